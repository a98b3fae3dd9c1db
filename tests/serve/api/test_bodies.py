"""Bodies: how many bytes each route takes, from whom, and how slowly they may come."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send

from ragkit.access.library import Caller
from ragkit_serve.api import bodies
from ragkit_serve.api.access import CALLER
from ragkit_serve.api.bodies import MAX_JSON_BYTES, MAX_PUBLIC_BYTES, UPLOADS, BodyLimits
from tests.serve.api.conftest import Live, Serve
from tests.serve.api.test_access import Make, routes_of

PIECE = 65536  # what uvicorn buffers at most
FORMS = ("application/json", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded")


@dataclass
class Client:
    """A client that sends pieces for ever, each after some seconds; it counts what is taken."""

    piece: bytes
    seconds: float = 0.0
    pieces: int = 0
    now: float = 0.0
    most: int = 10_000
    head: bytes = b""  # comes first

    async def receive(self) -> Message:
        self.pieces += 1
        self.now += self.seconds
        if self.pieces > self.most:
            return {"type": "http.disconnect"}
        body = self.head if self.head and self.pieces == 1 else self.piece
        return {"type": "http.request", "body": body, "more_body": True}

    @property
    def taken(self) -> int:
        return self.pieces * len(self.piece)


def scope_of(method: str, path: str, headers: dict[str, str]) -> dict[str, Any]:
    return {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "headers": [
            (name.encode(), value.encode())
            for name, value in ({"host": "localhost"} | headers).items()
        ],
    }


def sent(live: Live, scope: dict[str, Any], client: Client) -> int:
    """Have the app answer a request on the server's loop; return the status."""
    statuses: list[int] = []

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    loop = live.server._loop
    assert loop is not None
    asyncio.run_coroutine_threadsafe(live.app(scope, client.receive, send), loop).result(60)
    return statuses[0]


def paths_of(app: Any) -> Iterator[str]:
    """Walk the paths of an app, of the routers in it and of the chat page that it mounts."""
    for route in app.routes:
        if hasattr(route, "original_router"):
            yield from paths_of(route.original_router)
        else:
            named = route.path.replace("{name}", "default")
            yield re.sub(r"\{[^}]*\}", "1", named) or "/"
        for page in getattr(getattr(route, "app", None), "_pages", {}).values():
            yield from paths_of(page)


def addresses(live: Live, *methods: str) -> Iterator[tuple[str, str]]:
    """Return the paths of all routes, and some that there are not, with each of the methods."""
    paths = {"/nowhere", "/mcp", *paths_of(live.app)}
    assert {"/login", "/v1/chat/completions", "/v1/documents/1/source"} <= paths
    for path in sorted(paths):
        for method in methods:
            yield method, path


def test_no_route_reads_more_than_a_few_kilobytes_without_a_key(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Declared, chunked and slow bodies of every kind, to every route."""
    with serve(serve_auth="keys", ui=True) as live:
        assert "/gradio_api/upload" in paths_of(live.app)
        for method, path in addresses(live, "GET", "POST"):
            for content_type in FORMS:
                for more in ({"content-length": str(64 << 20)}, {"transfer-encoding": "chunked"}):
                    headers = {"content-type": content_type} | more
                    client = Client(b"a" * PIECE)
                    status = sent(live, scope_of(method, path, headers), client)
                    assert client.taken <= MAX_PUBLIC_BYTES + PIECE, (method, path, headers)
                    assert status != 500, (method, path, headers)
                drip = Client(b"a", seconds=1.0)
                monkeypatch.setattr(bodies, "clock", lambda drip=drip: drip.now)
                status = sent(live, scope_of(method, path, {"content-type": content_type}), drip)
                assert drip.now <= bodies.ALLOWANCE_S + 5, (method, path, content_type)
                assert status != 500, (method, path, content_type)


def test_only_the_routes_that_take_files_read_more_than_json_may_have(
    serve: Serve, key: Make
) -> None:
    """A form of 20 MB by a caller who may do everything; files may have 8."""
    bearer = {"authorization": "Bearer " + key("read", "write", "admin", "metrics")}
    form = bearer | {"content-type": "multipart/form-data; boundary=x"}
    file = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
    large = set()
    with serve(ui=True, serve_key_rate=100_000, serve_max_upload_mb=8) as live:
        for method, path in addresses(live, "POST", "PUT", "PATCH"):
            client = Client(b"a" * PIECE, most=(20 << 20) // PIECE, head=file)
            sent(live, scope_of(method, path, form), client)
            assert client.taken <= (9 << 20) + PIECE, (method, path)
            if client.taken > MAX_JSON_BYTES + PIECE:
                large.add((method, path))
    assert ("POST", "/v1/collections/default/documents") in large
    assert large <= {
        ("POST", "/v1/collections/default/documents"),
        ("PUT", "/v1/documents/1/source"),
    }


def test_the_routes_that_take_files_are_those_that_say_so(serve: Serve) -> None:
    with serve() as live:
        for route in routes_of(live.app):
            if isinstance(route, APIRoute):
                described = str(route.openapi_extra or "")
                takes_files = "multipart/form-data" in described
                matches = UPLOADS.fullmatch(route.path) is not None
                if {"POST", "PUT"} & set(route.methods or ()):
                    assert matches == takes_files, route.path


async def read_all(scope: Scope, receive: Receive, send: Send) -> None:
    """Read a body to its end."""
    while (await receive()).get("more_body"):
        pass


@pytest.mark.parametrize(
    ("rate", "size", "piece", "passes"),
    [
        (125_000, 60 << 20, 65536, True),  # a line of 1 Mbit/s
        (8_000, 60 << 20, 8_000, True),  # 64 kbit/s, for more than two hours
        (8_000, 60 << 20, 160_000, True),  # in bursts of 20 seconds
        (3_000, 60 << 20, 3_000, False),
        (3_000, 80_000, 3_000, True),  # a small one may be slow
        (1, 1_000, 1, False),
        (0.01, 1_000, 1, False),
    ],
)
async def test_a_body_may_take_as_long_as_its_size_deserves(
    monkeypatch: pytest.MonkeyPatch, rate: float, size: int, piece: int, passes: bool
) -> None:
    now = 0.0
    left = size

    async def receive() -> Message:
        nonlocal now, left
        count = min(piece, left)
        left -= count
        now += count / rate
        return {"type": "http.request", "body": bytes(count), "more_body": left > 0}

    monkeypatch.setattr(bodies, "clock", lambda: now)
    scope = scope_of(
        "POST",
        "/v1/collections/default/documents",
        {"content-type": "multipart/form-data; boundary=x"},
    )
    scope[CALLER] = Caller("default", "me")
    limits = BodyLimits(read_all, max_upload_bytes=100 << 20)

    async def send(message: Message) -> None:
        raise AssertionError("the app answers nothing")

    if passes:
        await limits(scope, receive, send)
        assert left == 0
    else:
        with pytest.raises(HTTPException) as caught:
            await limits(scope, receive, send)
        assert caught.value.status_code == 408
        assert now <= bodies.ALLOWANCE_S + size / bodies.MIN_BYTES_PER_S + piece / rate


async def test_the_time_that_the_server_takes_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    pieces = 0

    async def slow_app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal now
        while (await receive()).get("more_body"):
            now += 60.0

    async def receive() -> Message:
        nonlocal pieces
        pieces += 1
        return {"type": "http.request", "body": b"a", "more_body": pieces < 5}

    monkeypatch.setattr(bodies, "clock", lambda: now)
    scope = scope_of("POST", "/v1/search", {})
    await BodyLimits(slow_app, max_upload_bytes=1)(scope, receive, receive)  # type: ignore[arg-type]
    assert pieces == 5


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "",
        "application/json",
        "text/plain",
        "multipart/form-data; boundary=x",
        "application/x-www-form-urlencodedx",
    ],
)
def test_the_log_in_takes_a_form_and_nothing_else(
    serve: Serve, key: Callable[..., str], content_type: str | None
) -> None:
    headers = {} if content_type is None else {"content-type": content_type}
    with serve() as live:
        answer = httpx.post(f"{live.url}/login", content=f"key={key()}", headers=headers)
    assert answer.status_code == 415
    assert "set-cookie" not in answer.headers


def test_the_log_in_takes_a_few_kilobytes(serve: Serve, key: Callable[..., str]) -> None:
    with serve() as live:
        large = httpx.post(f"{live.url}/login", data={"key": "k" * 9000})
        assert (large.status_code, large.json()["error"]["code"]) == (413, "too_large")
        many = httpx.post(f"{live.url}/login", data={f"f{n}": "x" for n in range(20)})
        assert (many.status_code, many.json()["error"]["code"]) == (400, "form")
        typed = {"content-type": "Application/X-WWW-Form-Urlencoded; charset=utf-8"}
        right = httpx.post(f"{live.url}/login", content=f"key={key()}", headers=typed)
        assert right.status_code == 303
