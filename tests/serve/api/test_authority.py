"""Host and Origin: what is read as one, what is the server's own, and what is refused."""

from __future__ import annotations

import pytest

from ragkit_serve.api.authority import Authority, is_same_origin, read_authority
from tests.serve.api.conftest import Serve
from tests.serve.api.test_access import raw

HOSTS = {
    "localhost": Authority("localhost", None),
    "LocalHost:8080": Authority("localhost", 8080),
    "127.0.0.1:1": Authority("127.0.0.1", 1),
    "[::1]": Authority("::1", None),
    "[::1]:65535": Authority("::1", 65535),
    "[0:0:0:0:0:0:0:1]:80": Authority("::1", 80),
    "[2001:DB8::1]": Authority("2001:db8::1", None),
    "rag.example.org": Authority("rag.example.org", None),
    "a_b.example": Authority("a_b.example", None),
}
STRANGE = [
    "",
    " ",
    ":",
    ":80",
    "evil@127.0.0.1",
    "127.0.0.1@evil.example",
    "evil:x@127.0.0.1:80",
    "@127.0.0.1",
    "localhost:",
    "localhost:0",
    "localhost:080",
    "localhost:65536",
    "localhost:999999",
    "localhost:-1",
    "localhost:+80",
    "localhost:8_0",
    "localhost:٨٠",
    "localhost:80:80",
    "localhost:80@evil.example",
    "localhost/",
    "localhost/evil",
    "localhost?evil",
    "localhost#evil",
    "localhost\\evil",
    "localhost,evil.example",
    "localhost evil.example",
    "localhost;evil",
    "localhost%00",
    "localhost%2eevil",
    "localhost\t",
    "http://localhost",
    "//localhost",
    "[::1",
    "::1",
    "::1]",
    "[::1]evil",
    "[::1]]",
    "[::1%25lo]",
    "[::1%lo]",
    "[v1.x]",
    "[]",
    "[localhost]",
    "[127.0.0.1]",
    "-localhost",
    ".localhost",
    "ｌocalhost",
    "localhost\x00",
    "localhost\n",
    "a" * 300,
]
# Sound as names, and not this machine.
FOREIGN = [
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "evil-localhost",
    "localhost.",
    "127.1",
    "127.0.0.01",
    "2130706433",
    "0x7f.0.0.1",
    "0.0.0.0",
    "127.0.0.2",
    "[::ffff:127.0.0.1]",
    "[::]",
]


@pytest.mark.parametrize("text", HOSTS)
def test_hosts_are_read(text: str) -> None:
    assert read_authority(text) == HOSTS[text]


@pytest.mark.parametrize("text", STRANGE)
def test_what_is_no_host_is_not_read_as_one(text: str) -> None:
    assert read_authority(text) is None


@pytest.mark.parametrize(
    ("name", "is_address"),
    [("127.0.0.1", True), ("::1", True), ("10.1.2.3", True), ("localhost", False)]
    + [(name, False) for name in ("127.1", "2130706433", "0x7f.0.0.1", "127.0.0.01")],
)
def test_only_addresses_in_full_are_addresses(name: str, is_address: bool) -> None:
    assert Authority(name, None).is_address is is_address


ORIGINS = [
    ("http://localhost:8080", "http", "localhost:8080", True),
    ("http://localhost", "http", "localhost", True),
    ("http://localhost", "http", "localhost:80", True),
    ("http://localhost:80", "http", "localhost", True),
    ("https://rag.example", "https", "rag.example:443", True),
    ("https://rag.example", "https", "RAG.example", True),
    ("http://[::1]:8080", "http", "[0:0:0:0:0:0:0:1]:8080", True),
    ("https://localhost:8080", "http", "localhost:8080", False),
    ("http://rag.example", "https", "rag.example", False),
    ("http://rag.example:443", "https", "rag.example", False),
    ("http://localhost", "http", "localhost:8080", False),
    ("http://localhost:8081", "http", "localhost:8080", False),
    ("http://127.0.0.1:8080", "http", "localhost:8080", False),
    ("http://evil@localhost:8080", "http", "localhost:8080", False),
    ("http://localhost:8080/", "http", "localhost:8080", False),
    ("http://localhost:8080/path", "http", "localhost:8080", False),
    ("http://localhost:8080?", "http", "localhost:8080", False),
    ("http://localhost:8080#", "http", "localhost:8080", False),
    ("http://localhost:8080 ", "http", "localhost:8080", False),
    (" http://localhost:8080", "http", "localhost:8080", False),
    ("HTTP://localhost:8080", "http", "localhost:8080", False),
    ("ftp://localhost:8080", "http", "localhost:8080", False),
    ("ws://localhost:8080", "ws", "localhost:8080", False),
    ("file://localhost", "http", "localhost", False),
    ("http:localhost", "http", "localhost", False),
    ("localhost", "http", "localhost", False),
    ("//localhost", "http", "localhost", False),
    ("://localhost", "", "localhost", False),
    ("null", "http", "localhost", False),
    ("", "http", "localhost", False),
    ("http://", "http", "localhost", False),
    ("http://localhost http://evil.example", "http", "localhost", False),
    ("http://localhost,http://evil.example", "http", "localhost", False),
    ("http://evil.example", "http", "localhost", False),
]


@pytest.mark.parametrize(("origin", "scheme", "host", "same"), ORIGINS)
def test_an_origin_is_the_servers_own_by_scheme_host_and_port(
    origin: str, scheme: str, host: str, same: bool
) -> None:
    authority = read_authority(host)
    assert authority is not None
    assert is_same_origin(origin, scheme, authority) is same


def test_no_strange_host_reaches_a_route(serve: Serve) -> None:
    """h11 answers 400 to some itself."""
    sendable = [host for host in [*STRANGE, *FOREIGN] if all(ord(c) < 256 for c in host)]
    with serve() as live:
        for host in sendable:
            request = f"GET /livez HTTP/1.1\r\nHost: {host}\r\n\r\n"
            status = raw(live, request)
            trimmed = host.strip(" \t\n") in HOSTS  # blanks around a value are not part of it
            assert status in ({200} if trimmed else {400, 421}), host
        assert raw(live, "GET /livez HTTP/1.0\r\n\r\n") == 421
        assert raw(live, "GET http://evil.example/livez HTTP/1.1\r\nHost: localhost\r\n\r\n") == 400
        for host in ("localhost", "LOCALHOST:99", "127.0.0.1", "[::1]:7"):
            assert raw(live, f"GET /livez HTTP/1.1\r\nHost: {host}\r\n\r\n") == 200


def test_any_address_is_no_name_and_no_user(serve: Serve, key: object) -> None:
    """A server that others can reach goes by every IP address, written in full."""
    with serve(serve_host="0.0.0.0", serve_hosts="rag.example") as live:
        for host, status in {
            "10.1.2.3": 200,
            "[2001:db8::1]:80": 200,
            "rag.example": 200,
            "evil@10.1.2.3": 421,
            "10.1.2.3.evil.example": 421,
            "10.1": 421,
            "evil.example": 421,
        }.items():
            assert raw(live, f"GET /livez HTTP/1.1\r\nHost: {host}\r\n\r\n") == status, host


@pytest.mark.parametrize(
    ("proto", "origin", "status"),
    [
        ("https", "https://rag.example", 415),  # let in: the form alone is missing
        ("https", "http://rag.example", 403),
        ("http", "https://rag.example", 403),
        ("http", "http://rag.example", 415),
        ("wss", "https://rag.example", 403),
        ("HTTPS", "https://rag.example", 403),  # not a scheme that a proxy sends: http stays
        ("https, http", "https://rag.example", 403),
        ("https", "https://rag.example:444", 403),
        ("https", "null", 403),
    ],
)
def test_the_scheme_is_the_one_that_a_trusted_proxy_tells(
    serve: Serve, proto: str, origin: str, status: int
) -> None:
    with serve(serve_hosts="rag.example", serve_auth="keys") as live:
        head = f"Host: rag.example\r\nX-Forwarded-Proto: {proto}\r\nOrigin: {origin}\r\n"
        assert raw(live, f"POST /login HTTP/1.1\r\n{head}Content-Length: 0\r\n\r\n") == status


@pytest.mark.parametrize(("origin", "scheme", "host", "same"), ORIGINS)
def test_the_gate_refuses_every_origin_but_its_own(
    serve: Serve, origin: str, scheme: str, host: str, same: bool
) -> None:
    if scheme not in {"http", "https"}:
        scheme = "http"
    with serve(serve_hosts="rag.example", serve_auth="keys") as live:
        head = f"Host: {host}\r\nX-Forwarded-Proto: {scheme}\r\nOrigin: {origin}\r\n"
        status = raw(live, f"POST /login HTTP/1.1\r\n{head}Content-Length: 0\r\n\r\n")
    trimmed = origin != origin.strip() and origin.strip() == "http://localhost:8080"
    assert status == (415 if same or trimmed else 403)
