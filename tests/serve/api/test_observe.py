"""What is written down: no secret and no text ever; figures, audit lines, spans."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ragkit.system.logs import JsonLines, PlainLines
from ragkit.testing.stub_server.server import Fault, Reply, StubServer
from tests.serve.api.conftest import Scripted, Serve

CANARY = "wombat-canary"
QUESTION = f"How many days of paid holiday does an employee have, {CANARY}?"


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [json.loads(JsonLines().format(record)) for record in caplog.records]


def test_neither_texts_nor_secrets_are_logged(
    serve: Serve, key: Callable[..., str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = key("read", "write", "admin")
    said: list[str | Reply | Fault] = [
        "28 days, says the wombat-canary [1].",
        Fault(status=500, message=CANARY),
    ]
    replies = iter(said)
    with (
        StubServer(lambda messages: next(replies, CANARY), api_key="model-secret-canary") as stub,
        serve(llm_url=stub.url, llm_model="stub", llm_api_key="model-secret-canary") as live,
        httpx.Client(
            base_url=live.url, headers={"authorization": f"Bearer {secret}"}, timeout=60
        ) as client,
    ):
        body = {"model": "ragkit", "messages": [{"role": "user", "content": QUESTION}]}
        client.post("/v1/chat/completions", json=body)
        client.post("/v1/chat/completions", json=body)
        client.post("/v1/chat/completions", json=body | {"model": "stub"})
        client.post("/v1/search", json={"query": CANARY})
        client.post("/v1/search", json={"qurey": CANARY})
        client.get(f"/v1/models/{CANARY}")
        client.get(f"/{CANARY}?{CANARY}={CANARY}", headers={"user-agent": CANARY})
        metrics = client.get("/metrics").text
    ours = [line for line in lines(caplog) if line["logger"].startswith(("ragkit", "uvicorn"))]
    assert len(ours) >= 7
    shown = json.dumps(ours) + metrics + "".join(map(PlainLines().format, caplog.records[-5:]))
    assert CANARY not in shown
    assert secret not in shown
    assert "model-secret-canary" not in shown


def test_the_audit_says_who_asked_which_collection_and_what_only_when_wanted(
    serve: Serve, key: Callable[..., str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    secret = key("read", principal="ann")
    for wanted in ("off", "metadata", "texts"):
        caplog.clear()
        with serve(serve_audit=wanted) as live:
            httpx.post(
                f"{live.url}/v1/search",
                json={"query": CANARY, "collection": "manuals"},
                headers={"authorization": f"Bearer {secret}"},
                timeout=30,
            )
        found = [line for line in lines(caplog) if line["logger"] == "ragkit.audit"]
        if wanted == "off":
            assert found == []
            continue
        (line,) = found
        assert (line["action"], line["principal"], line["collection"]) == (
            "search",
            "ann",
            "manuals",
        )
        assert line.get("text") == (CANARY if wanted == "texts" else None)


def test_figures_have_every_name_and_no_tenant(
    serve: Serve, scripted: Scripted, key: Callable[..., str]
) -> None:
    secret = key("read", "metrics", tenant="tenant-canary")
    with serve(llm_url=scripted().url, llm_model="stub") as live:
        headers = {"authorization": f"Bearer {secret}"}
        text = httpx.get(f"{live.url}/metrics", headers=headers).text
    for name in (
        *("ragkit_requests_total", "ragkit_request_seconds", "ragkit_stage_seconds"),
        *("ragkit_in_flight", "ragkit_waiting", "ragkit_rejections_total"),
        *("ragkit_tokens_total", "ragkit_jobs"),
    ):
        assert f"# TYPE {name} " in text
    assert 'ragkit_jobs{state="queued"} 0.0' in text
    assert "tenant" not in text


def test_an_answer_is_a_span_by_the_conventions(
    serve: Serve, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", lambda *given: provider.get_tracer("ragkit"))
    body: dict[str, Any] = {
        "model": "ragkit",
        "messages": [{"role": "user", "content": QUESTION}],
    }
    with serve(llm_url=scripted().url, llm_model="stub") as live:
        url = f"{live.url}/v1/chat/completions"
        assert httpx.post(url, json=body, timeout=30).status_code == 200
        assert httpx.post(url, json=body | {"stream": True}, timeout=30).status_code == 200
        assert httpx.post(url, json=body | {"model": "none"}, timeout=30).status_code == 404
    spans = exporter.get_finished_spans()
    assert [span.name for span in spans] == ["chat ragkit", "chat ragkit"]
    for span in spans:
        assert span.attributes is not None
        assert span.attributes["gen_ai.operation.name"] == "chat"
        assert span.attributes["gen_ai.request.model"] == "ragkit"
        tokens = span.attributes["gen_ai.usage.input_tokens"]
        assert isinstance(tokens, int)
        assert tokens > 0
        assert CANARY not in str(dict(span.attributes))
