"""Every error status of the API, provoked over HTTP: shape, headers, documentation."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPResponse
from typing import Any, Final

import httpx
import psycopg
import pytest
from psycopg_pool import ConnectionPool

from ragkit.testing.stub_server.server import Fault
from ragkit_serve.api.errors import RESPONSES
from tests.places import ROOT
from tests.serve.api.conftest import Live, Scripted, Serve

GUIDE: Final = ROOT / "docs" / "howto" / "api.md"
ID: Final = "from-the-client.1"
CHAT: Final = {"model": "ragkit", "messages": [{"role": "user", "content": "How many days?"}]}
# What an error of the server's own parts may say, and clients must not be told.
INNER: Final = (
    'connection to server at "10.0.0.7", port 5432 failed: FATAL: password authentication failed\n'
    'Traceback: File "/srv/ragkit/store.py", line 7: SELECT secret FROM access_key'
)
TELLTALES: Final = re.compile(r"Traceback|File \"|10\.0\.0\.7|/srv|SELECT|access_key|\n")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back over the connection."""

    status: int
    headers: dict[str, str]
    text: str


@dataclass(frozen=True, slots=True)
class Bench:
    """What a request may need to fail."""

    serve: Serve
    key: Callable[..., str]
    scripted: Scripted
    monkeypatch: pytest.MonkeyPatch

    @contextmanager
    def server(self, **settings: Any) -> Iterator[tuple[Live, str]]:
        """Give a server and a key with every scope."""
        secret = self.key("read", "write", "admin", "metrics")
        with self.serve(**settings) as live:
            yield live, secret

    def ask(self, method: str, path: str, *, settings: dict[str, Any], **request: Any) -> Answer:
        """Ask a server once."""
        with self.server(**settings) as (live, secret):
            return ask(live, secret, method, path, **request)


def ask(live: Live, secret: str, method: str, path: str, **request: Any) -> Answer:
    headers = {"authorization": f"Bearer {secret}", "x-request-id": ID}
    headers |= request.pop("headers", {})
    got = httpx.request(method, live.url + path, headers=headers, timeout=60, **request)
    return Answer(got.status_code, {k.lower(): v for k, v in got.headers.items()}, got.text)


def asked(method: str, path: str, *, settings: Any = None, **request: Any) -> Callable[..., Answer]:
    """Return what asks for something that fails by itself."""
    return lambda bench: bench.ask(method, path, settings=settings or {}, **request)


def raw(content: bytes) -> Callable[[Bench], Answer]:
    """Return what sends bytes as they are, where {key} stands for a key."""

    def send(bench: Bench) -> Answer:
        bench.monkeypatch.setattr("ragkit_serve.api.bodies.LONGEST_SILENCE_S", 0.3)
        with bench.server() as (live, secret):
            address = httpx.URL(live.url)
            with socket.create_connection((address.host, address.port or 80), 60) as conn:
                conn.sendall(content.replace(b"{key}", secret.encode()))
                response = HTTPResponse(conn)
                response.begin()
                headers = {name.lower(): value for name, value in response.getheaders()}
                return Answer(response.status, headers, response.read().decode())

    return send


def missing_scope(bench: Bench) -> Answer:
    secret = bench.key("read")
    with bench.server() as (live, _):
        return ask(live, secret, "POST", "/v1/collections", json={"id": "new"})


def key_used_for_another_body(bench: Bench) -> Answer:
    with bench.server() as (live, secret):
        path = "/v1/collections/default/documents"
        headers = {"idempotency-key": "one"}
        files = {"file": ("a.txt", b"first")}
        assert ask(live, secret, "POST", path, files=files, headers=headers).status == 202
        files = {"file": ("a.txt", b"second")}
        return ask(live, secret, "POST", path, files=files, headers=headers)


def too_often(bench: Bench) -> Answer:
    with bench.server(serve_key_rate=1) as (live, secret):
        assert ask(live, secret, "GET", "/v1/models").status == 200
        return ask(live, secret, "GET", "/v1/models")


def failing(error: Exception) -> Callable[[Bench], Answer]:
    """Return what asks a server whose database fails."""

    def request(bench: Bench) -> Answer:
        with bench.server() as (live, secret):
            assert ask(live, secret, "GET", "/v1/collections").status == 200

            def fail(*arguments: object, **options: object) -> object:
                raise error

            with bench.monkeypatch.context() as patch:
                for name in ("getconn", "connection"):
                    patch.setattr(ConnectionPool, name, fail)
                return ask(live, secret, "GET", "/v1/collections")

    return request


def failing_model(bench: Bench) -> Answer:
    stub = bench.scripted(lambda messages: Fault(status=500, message=INNER))
    settings = {"llm_url": stub.url, "llm_model": "stub"}
    return bench.ask("POST", "/v1/chat/completions", settings=settings, json=CHAT)


def draining(bench: Bench) -> Answer:
    with bench.server(serve_concurrency=3) as (live, secret):
        live.app.state.ragkit.admission._draining = True
        return ask(live, secret, "POST", "/v1/chat/completions", json=CHAT)


@dataclass(frozen=True, slots=True)
class Case:
    """A request that fails: its status, type and code, the headers it must have."""

    name: str
    status: int
    type: str
    code: str | None
    provoke: Callable[[Bench], Answer]
    headers: tuple[str, ...] = field(default=())


JSON: Final = {"content-type": "application/json"}
_HEAD: Final = b"Host: localhost\r\nAuthorization: Bearer {key}\r\nX-Request-Id: " + ID.encode()
BAD, SERVER = "invalid_request_error", "server_error"
CASES: Final = (
    Case("field", 400, BAD, "missing", asked("POST", "/v1/search", json={})),
    Case("json", 400, BAD, "json_invalid", asked("POST", "/v1/search", content=b"{", headers=JSON)),
    Case("path", 400, BAD, "path", asked("GET", "/v1/models%00")),
    Case(
        "header",
        400,
        BAD,
        "header",
        raw(b"GET /v1/models HTTP/1.1\r\nAuthorization: a\r\n" + _HEAD + b"\r\n\r\n"),
    ),
    Case(
        "key",
        401,
        "authentication_error",
        "invalid_api_key",
        asked("GET", "/v1/models", headers={"authorization": "Bearer rk_none"}),
        ("www-authenticate",),
    ),
    Case("scope", 403, "permission_error", "scope", missing_scope),
    Case(
        "origin",
        403,
        "permission_error",
        "origin",
        asked("POST", "/v1/search", json={"query": "x"}, headers={"origin": "https://a.example"}),
    ),
    Case("row", 404, "not_found_error", "not_found", asked("GET", "/v1/collections/nowhere")),
    Case("route", 404, "not_found_error", "not_found", asked("GET", "/v1/nowhere")),
    Case("method", 405, BAD, "method_not_allowed", asked("PUT", "/v1/search"), ("allow",)),
    Case(
        "method-page",
        405,
        BAD,
        "method_not_allowed",
        asked("PUT", "/v1/search", settings={"ui": True}),
        ("allow",),
    ),
    Case(
        "slow",
        408,
        BAD,
        "slow",
        raw(b"POST /v1/search HTTP/1.1\r\nContent-Length: 9\r\n" + _HEAD + b"\r\n\r\n{"),
    ),
    Case("reused", 409, "conflict_error", "idempotency_key_reused", key_used_for_another_body),
    Case("large", 413, BAD, "too_large", asked("POST", "/v1/search", content=b" " * (5 << 20))),
    Case(
        "chunked",
        413,
        BAD,
        "too_large",
        asked("POST", "/v1/search", content=(b" " * 65536 for _ in range(100))),
    ),
    Case(
        "form",
        415,
        BAD,
        "content_type",
        asked("POST", "/v1/collections/default/documents", content=b"text"),
    ),
    Case("host", 421, BAD, "unknown_host", asked("GET", "/livez", headers={"host": "a.example"})),
    Case("rate", 429, "rate_limit_error", "rate_limit_exceeded", too_often, ("retry-after",)),
    Case("defect", 500, SERVER, None, failing(RuntimeError(INNER))),
    Case("model", 502, SERVER, "model_server", failing_model),
    Case(
        "database",
        503,
        SERVER,
        "database",
        failing(psycopg.OperationalError(INNER)),
        ("retry-after",),
    ),
    Case("statement", 503, SERVER, "database", failing(psycopg.ProgrammingError(INNER))),
    Case("draining", 503, SERVER, "draining", draining, ("retry-after",)),
)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.status}-{case.name}")
def test_an_error_is_one_line_in_openais_shape(
    case: Case,
    serve: Serve,
    key: Callable[..., str],
    scripted: Scripted,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = case.provoke(Bench(serve, key, scripted, monkeypatch))
    assert answer.status == case.status
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-request-id"] == ID
    assert set(case.headers) <= answer.headers.keys()
    error = json.loads(answer.text)["error"]
    assert json.loads(answer.text).keys() == {"error"}
    assert error.keys() == {"message", "type", "param", "code"}
    assert (error["type"], error["code"]) == (case.type, case.code)
    assert 10 <= len(error["message"]) < 400
    assert not TELLTALES.search(error["message"])


def test_every_status_is_provoked_declared_and_documented(serve: Serve) -> None:
    provoked = {case.status for case in CASES}
    assert set(RESPONSES) == provoked
    rows = re.findall(r"^\| ([45][\d, ]+) \|", GUIDE.read_text("utf-8"), re.MULTILINE)
    assert [int(status) for row in rows for status in row.split(",")] == sorted(provoked)
    with serve() as live:
        document = httpx.get(f"{live.url}/openapi.json").json()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            declared = {int(status) for status in operation["responses"] if status >= "400"}
            probe = path in {"/livez", "/readyz"}
            assert declared == ({503} & declared if probe else provoked), (method, path)


def test_what_is_no_http_is_answered_in_the_same_shape(serve: Serve) -> None:
    with serve() as live:
        address = httpx.URL(live.url)
        with socket.create_connection((address.host, address.port or 80), 60) as conn:
            conn.sendall(b"GET /livez HTTP/1.1\r\nno header\r\n\r\n")
            response = HTTPResponse(conn)
            response.begin()
            error = json.loads(response.read())["error"]
    assert (response.status, error["type"], error["code"]) == (400, BAD, "http")
