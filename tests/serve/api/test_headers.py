"""The headers of every answer: of streams and whole ones, of errors, with the page and without."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from ragkit.system.logs import JsonLines, PlainLines
from ragkit_serve.page.csp import NOTHING
from tests.serve.api.conftest import Live, Scripted, Serve
from tests.serve.api.test_access import raw
from tests.serve.api.test_bodies import addresses

ASKED: dict[str, Any] = {
    "model": "ragkit",
    "messages": [{"role": "user", "content": "How many days of paid holiday are there?"}],
}
ALWAYS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def check(answer: httpx.Response, where: object) -> None:
    """Assert what every answer has, and has once."""
    names = [name.lower() for name, _ in answer.headers.raw]
    assert len(names) == len(set(names)) or names.count(b"set-cookie") > 1, where
    for name, value in ALWAYS.items():
        assert answer.headers.get(name) == value, (where, name)
    assert "camera=()" in answer.headers["permissions-policy"], where
    assert "default-src 'none'" in answer.headers["content-security-policy"], where
    assert re.fullmatch(r"[0-9a-f]{32}", answer.headers["x-request-id"]), where
    assert "cache-control" in answer.headers or "etag" in answer.headers, where
    assert "server" not in answer.headers, where
    if answer.headers.get("content-type", "").startswith("application/json"):
        assert answer.headers["cache-control"] in {"no-store", "private, no-store"}, where


@pytest.mark.parametrize("ui", [False, True])
@pytest.mark.parametrize("with_key", [False, True])
def test_every_route_answers_with_the_headers(
    serve: Serve, key: Callable[..., str], ui: bool, with_key: bool
) -> None:
    """Whatever the answer is: with a key mostly an error or a list, without one 401 or a form."""
    bearer = {"authorization": "Bearer " + key("read", "write", "admin", "metrics")}
    with (
        serve(serve_auth="keys", ui=ui, serve_key_rate=100_000) as live,
        httpx.Client(base_url=live.url, timeout=60, headers=bearer if with_key else {}) as client,
    ):
        statuses = set()
        for method, path in addresses(live, "GET", "POST", "PATCH"):
            if path == "/gradio_api/upload_progress":
                continue  # waits for an upload
            answer = client.request(method, path)
            check(answer, (method, path, answer.status_code))
            statuses.add(answer.status_code)
    assert statuses >= ({200, 400, 404, 405} if with_key else {200, 401, 415})


@pytest.mark.parametrize("ui", [False, True])
@pytest.mark.parametrize("model", ["ragkit", "stub"])
def test_a_stream_has_the_headers_of_a_whole_answer(
    serve: Serve, scripted: Scripted, ui: bool, model: str
) -> None:
    """Of ragkit's own answers, and of those that are passed on from the model server."""
    with serve(llm_url=scripted().url, llm_model="stub", ui=ui) as live:
        url = f"{live.base}/chat/completions"
        whole = httpx.post(url, json=ASKED | {"model": model}, timeout=60)
        stream = httpx.post(url, json=ASKED | {"model": model, "stream": True}, timeout=60)
    assert (whole.status_code, stream.status_code) == (200, 200)
    for answer in (whole, stream):
        check(answer, model)
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["content-security-policy"] == NOTHING
    assert whole.headers["content-type"] == "application/json"
    assert stream.headers["content-type"].replace(" ", "") == "text/event-stream;charset=utf-8"
    assert stream.headers["x-accel-buffering"] == "no"
    lengths = {"content-length", "content-type", "x-accel-buffering", "transfer-encoding"}
    shared = [{*answer.headers} - lengths for answer in (whole, stream)]
    assert shared[0] == shared[1]


STRANGE_IDS = [
    "a b",
    "a\tb",
    "x" * 65,
    "x" * 10_000,
    "é",
    "\xff\xfe",
    "请求".encode().decode("latin-1"),
    "a\x1b[31mred",
    "a\x01",
    "<script>",
    'a"b',
    "a,b",
    "a;b",
    "%0a%0d",
    "\\n",
    "${jndi:ldap://x}",
    "",
    " ",
    "canary/../../x",
]


@pytest.mark.parametrize("strange", STRANGE_IDS)
def test_a_strange_request_id_is_replaced_and_never_written_down(
    serve: Serve, caplog: pytest.LogCaptureFixture, strange: str
) -> None:
    """In the answer, in its log line and in an error's."""
    caplog.set_level(logging.DEBUG)
    with serve() as live:
        statuses = {status(live, path, strange) for path in ("/v1/models", "/nowhere")}
        fields = [getattr(record, "fields", {}) for record in caplog.records]
        ids = {one["request"] for one in fields if "request" in one}
    if statuses == {400}:  # h11 takes no control characters
        return
    assert statuses == {200, 404}
    assert ids
    assert all(re.fullmatch(r"[0-9a-f]{32}", one) for one in ids)
    if strange.strip():
        for record in caplog.records:
            assert strange not in JsonLines().format(record)
            assert strange not in PlainLines().format(record)


def status(live: Live, path: str, request_id: str) -> int:
    """Ask with a request id; assert that the answer has another, and return its status."""
    import socket

    address = httpx.URL(live.url)
    head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    with socket.create_connection((address.host, address.port or 80), 60) as conn:
        conn.sendall(f"{head}X-Request-Id: {request_id}\r\n\r\n".encode("latin-1"))
        answer = b""
        while piece := conn.recv(65536):
            answer += piece
    found = int(answer.split()[1])
    if found != 400:
        given = re.search(rb"\r\nx-request-id: ([^\r\n]*)\r\n", answer)
        assert given is not None
        assert re.fullmatch(rb"[0-9a-f]{32}", given[1])
    return found


def test_a_request_id_cannot_split_the_answer(serve: Serve) -> None:
    with serve() as live:
        head = "GET /livez HTTP/1.1\r\nHost: localhost\r\n"
        for split in ("a\nset-cookie: x=y", "a\rset-cookie: x=y", "a\r\n b", "a\x00b"):
            assert raw(live, f"{head}X-Request-Id: {split}\r\n\r\n") in {200, 400}
            answer = httpx.get(f"{live.url}/livez")
            assert "set-cookie" not in answer.headers
        assert raw(live, f"{head}X-Request-Id: a\r\nX-Request-Id: b\r\n\r\n") == 400


@pytest.mark.parametrize(
    ("options", "chunk"),
    [
        ({}, False),
        ({"stream_options": None}, False),
        ({"stream_options": {}}, False),
        ({"stream_options": {"include_usage": False}}, False),
        ({"stream_options": {"include_usage": True}}, True),
    ],
)
@pytest.mark.parametrize("model", ["ragkit", "stub"])
def test_usage_is_told_in_a_stream_only_when_it_is_asked_for(
    serve: Serve, scripted: Scripted, model: str, options: dict[str, Any], chunk: bool
) -> None:
    """A chunk of its own without choices; else no field of that name in any chunk."""
    with serve(llm_url=scripted().url, llm_model="stub") as live:
        text = httpx.post(
            f"{live.base}/chat/completions",
            json=ASKED | {"model": model, "stream": True} | options,
            timeout=60,
        ).text
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data:")]
    assert lines[-1] == "[DONE]"
    chunks = [json.loads(line) for line in lines[:-1]]
    told = [one for one in chunks if one.get("usage")]
    assert len(told) == (1 if chunk else 0)
    assert [one for one in chunks if not one["choices"]] == told
    assert chunk or not [one for one in chunks if "usage" in one]
