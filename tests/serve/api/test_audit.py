"""The audit: a line for everything that is read, written or asked, with texts where wanted."""

from __future__ import annotations

import json
import logging
from typing import Any

import httpx
import pytest

from ragkit.system.logs import JsonLines
from tests.serve.api.conftest import Live, Scripted, Serve
from tests.serve.api.test_load import until
from tests.serve.api.test_model_failures import CHAT, QUESTION, WAYS
from tests.serve.api.test_places import requests

ANSWER = "Twenty-eight days [1]."


def audited(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    lines = [json.loads(JsonLines().format(record)) for record in caplog.records]
    return [line for line in lines if line["logger"] == "ragkit.audit"]


def ask(live: Live, path: str, body: dict[str, Any]) -> None:
    assert httpx.post(f"{live.url}{path}", json=body, timeout=60).status_code == 200
    assert until(lambda: requests(live) == 0)


@pytest.mark.parametrize("way", [*WAYS, "page"])
def test_texts_are_the_question_and_the_answer_on_every_way(
    serve: Serve, scripted: Scripted, caplog: pytest.LogCaptureFixture, way: str
) -> None:
    caplog.set_level(logging.INFO)
    stub = scripted(lambda messages: ANSWER)
    path, body = "/v1/chat/completions", WAYS.get(way, {})
    if way == "page":
        path, body = "/ui/ask", {"question": QUESTION}
    about = ("model", "stub") if way.startswith("forwarded") else ("collection", "default")
    for wanted in ("off", "metadata", "texts"):
        caplog.clear()
        settings = {"llm_url": stub.url, "llm_model": "stub", "serve_audit": wanted}
        with serve(ui=way == "page", **settings) as live:
            ask(live, path, body)
        lines = audited(caplog)
        if wanted == "texts":
            assert [line["action"] for line in lines] == ["chat", "answer"]
            assert [line["text"] for line in lines] == [QUESTION, ANSWER]
        else:
            assert [line["action"] for line in lines] == ["chat"] * (wanted == "metadata")
            assert QUESTION not in str(lines)
        assert all(line[about[0]] == about[1] for line in lines)
        assert len({line["request"] for line in lines}) == bool(lines)


def test_each_choice_is_an_answer(
    serve: Serve, scripted: Scripted, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    answers = iter(["First [1].", "Second [1]."] * 2)
    stub = scripted(lambda messages: next(answers))
    with serve(llm_url=stub.url, llm_model="stub", serve_audit="texts") as live:
        for stream in (False, True):
            caplog.clear()
            ask(live, "/v1/chat/completions", CHAT | {"n": 2, "stream": stream})
            texts = [line["text"] for line in audited(caplog) if line["action"] == "answer"]
            assert texts == ["First [1].", "Second [1]."]


@pytest.mark.usefixtures("alone")
def test_what_is_done_with_documents_is_written_down(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with serve() as live, httpx.Client(base_url=live.base, timeout=60) as client:
        rows = client.get("collections/default/documents").json()["data"]
        number = rows[0]["id"]
        files = {"file": ("a.txt", b"Text.")}
        client.get(f"documents/{number}")
        client.get(f"documents/{number}/text")
        client.get(f"documents/{number}/versions")
        client.get(f"documents/{number}/source")
        client.put(f"documents/{number}/source", files=files)
        client.post("collections/default/documents", files=files)
        client.delete(f"documents/{number}")
    lines = audited(caplog)
    assert [(line["action"], line.get("document")) for line in lines] == [
        ("list", None),
        ("read", number),
        ("read text", number),
        ("read", number),
        ("download", number),
        ("upload", number),
        ("upload", None),
        ("delete", number),
    ]
    assert {line["collection"] for line in lines} == {"default"}


def test_what_is_done_with_conversations_is_written_down(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with serve() as live, httpx.Client(base_url=live.base, timeout=60) as client:
        sent = CHAT | {"ragkit": {"conversation": "new"}, "store": True}
        answer = client.post("chat/completions", json=sent).json()
        number = answer["choices"][0]["message"]["context"]["conversation"]
        client.get(f"conversations/{number}")
        client.get(f"conversations/{number}/export")
        client.delete(f"conversations/{number}")
        client.get(f"chat/completions/{answer['id']}")
        client.delete(f"chat/completions/{answer['id']}")
    assert [line["action"] for line in audited(caplog)] == [
        "chat",
        *("conversation.read", "conversation.export", "conversation.delete"),
        *("completion.read", "completion.delete"),
    ]
