"""Connections: how many there are, and how long a client may leave a request unfinished."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator

import httpx
import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from ragkit_serve.web import connections
from tests.serve.api.conftest import running

LARGE = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n"
SMALL = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n"


async def answers_unread(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer without reading the body, as a request without a key is answered."""
    if scope["type"] == "http":
        await PlainTextResponse("no", 401)(scope, receive, send)


@pytest.fixture
def address() -> Iterator[tuple[str, int]]:
    with running(answers_unread) as live:
        url = httpx.URL(live.url)
        yield url.host, url.port or 80


def answered(conn: socket.socket) -> bytes:
    """Read one answer."""
    text = b""
    while not text.endswith(b"\r\n\r\nno"):
        piece = conn.recv(1000)
        assert piece, "the server hung up before it answered"
        text += piece
    return text


def hung_up(conn: socket.socket) -> bool:
    """Wait for the server to hang up."""
    try:
        return conn.recv(1000) == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize("sent", [b"", b"a", b"a" * 100])
def test_the_rest_of_an_answered_body_is_not_waited_for(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(connections, "LINGER_S", 0.2)
    with socket.create_connection(address, 60) as conn:
        conn.sendall(LARGE)
        assert b" 401 " in answered(conn)
        conn.sendall(sent)
        assert hung_up(conn)


def test_a_body_that_drips_on_after_its_answer_is_cut_off(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "LINGER_S", 0.2)
    with socket.create_connection(address, 0.02) as conn:
        conn.sendall(LARGE)
        conn.settimeout(60)
        answered(conn)
        conn.settimeout(0.02)
        for _ in range(3000):  # a minute: a server that waits as long as bytes come fails here
            try:
                conn.sendall(b"a")
                if conn.recv(1000) == b"":
                    return
            except TimeoutError:
                continue
            except ConnectionError:
                return
    pytest.fail("the server reads on")


def test_of_an_answered_body_a_bounded_part_is_read(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "LINGER_S", 3600.0)
    monkeypatch.setattr(connections, "MAX_LINGER_BYTES", 1 << 20)
    sent = 0
    with socket.create_connection(address, 60) as conn:
        conn.sendall(LARGE)
        answered(conn)
        while sent < 100 << 20:  # the machine's own buffers hold some besides
            try:
                conn.sendall(b"a" * 65536)
            except ConnectionError:
                return
            sent += 65536
    pytest.fail("the server reads on")


def test_a_body_that_comes_to_its_end_keeps_its_connection(address: tuple[str, int]) -> None:
    with socket.create_connection(address, 60) as conn:
        for _ in range(3):
            conn.sendall(SMALL)
            answered(conn)
            conn.sendall(b"a" * 10)
        conn.sendall((SMALL + b"a" * 10) * 2)  # sent ahead
        text = answered(conn)
        if text.count(b" 401 ") < 2:
            text += answered(conn)
        assert text.count(b" 401 ") == 2


def test_connections_are_counted(address: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "max_connections", lambda: 3)
    opened = [socket.create_connection(address, 60) for _ in range(3)]
    try:
        for conn in opened:
            conn.sendall(SMALL)
            answered(conn)
        with socket.create_connection(address, 60) as refused:
            assert hung_up(refused)
        opened[0].sendall(b"a" * 10 + SMALL)  # those that are there go on
        answered(opened[0])
    finally:
        for conn in opened:
            conn.close()


def test_some_descriptors_stay_for_everything_else() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, before[1]))
        assert connections.max_connections() == 768
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert connections.max_connections() <= connections.MAX_CONNECTIONS
