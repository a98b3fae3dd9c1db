"""Pages come from the open internet alone: a listener on loopback sees nothing of the rest."""

import gzip
import http.server
import shutil
import socket
import ssl
import subprocess
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpcore
import pytest

from ragkit.errors import IngestError
from ragkit.settings.settings import Settings
from ragkit_ingest.parse import parse_bytes
from ragkit_ingest.sources import SourceOptions, find
from ragkit_ingest.sources.address import is_public
from ragkit_ingest.sources.connection import Public
from ragkit_ingest.sources.fetch import Access, fetch

SITE = "127.0.0.2"  # where a good server is; on 127.0.0.1 is who must see nothing
# What a name may lead to that is not on the open internet.
HOSTILE_NAMES = {
    "loopback.example": ["127.0.0.1"],
    "mixed.example": ["93.184.216.34", "127.0.0.1"],
    "six.example": ["::1"],
    "mapped.example": ["::ffff:127.0.0.1"],
    "nat64.example": ["64:ff9b::7f00:1"],
    "sixtofour.example": ["2002:7f00:1::1"],
    "private.example": ["10.0.0.1"],
    "cloud.example": ["169.254.169.254"],
    "shared.example": ["100.64.0.1"],
    "nowhere.example": ["0.0.0.0"],
    "localhost": ["127.0.0.1"],
    "2130706433": ["127.0.0.1"],
    "0x7f000001": ["127.0.0.1"],
    "127.1": ["127.0.0.1"],
    "empty.example": [],
}
HOSTILE_URLS = [
    *[f"http://{name}:{{port}}/" for name in HOSTILE_NAMES],
    "http://127.0.0.1:{port}/",
    "https://127.0.0.1:{port}/",
    "http://127.0.0.1:{port}\\@1.1.1.1",
    "http://1.1.1.1\\@127.0.0.1:{port}/",
    "http://1.1.1.1@127.0.0.1:{port}/",
    "http://127。0。0。1:{port}/",
    "http://[::1]:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/",
    "http://[::ffff:7f00:1]:{port}/",
    "http://[::127.0.0.1]:{port}/",
    "http://0.0.0.0:{port}/",
    "http://0177.0.0.1:{port}/",
    "http://017700000001:{port}/",
    "http://0x7f.0x0.0x0.0x1:{port}/",
    "http://127.0.0.1.:{port}/",
    "http://%31%32%37.0.0.1:{port}/",
    "http://①②⑦.⓪.⓪.①:{port}/",
    "http://user:pass@loopback.example:{port}/",
    "http://loopback.example.:{port}/",
    "gopher://127.0.0.1:{port}/_x",
]


class Canary:
    """A listener on loopback that notes whoever connects."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.settimeout(0)
        self.port: int = self._socket.getsockname()[1]

    def has_seen(self) -> bool:
        """Say whether anybody connected, which the system does before it is accepted."""
        with suppress(BlockingIOError):
            self._socket.accept()[0].close()
            return True
        return False

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def canary() -> Iterator[Canary]:
    canary = Canary()
    yield canary
    canary.close()


def _resolve(host: str, port: int) -> list[str]:
    host = host.removesuffix(".")
    return HOSTILE_NAMES.get(host, [host])


@pytest.mark.parametrize("template", HOSTILE_URLS)
def test_hostile_urls_reach_nobody(template: str, canary: Canary) -> None:
    url = template.replace("{port}", str(canary.port))
    access = Access(resolve=_resolve, ports=frozenset({80, 443, canary.port}), connect_s=1)
    with pytest.raises(IngestError):
        fetch(url, access)
    assert not canary.has_seen()


def test_the_listener_would_have_seen_them(canary: Canary) -> None:
    access = Access(
        resolve=_resolve,
        is_allowed=lambda address: True,
        ports=frozenset({canary.port}),
        silence_s=0.1,
    )
    with pytest.raises(IngestError, match=r"silence for 0\.1 s"):
        fetch(f"http://loopback.example:{canary.port}/", access)
    assert canary.has_seen()


@pytest.mark.parametrize("template", [url for url in HOSTILE_URLS if "gopher" not in url])
def test_a_redirect_is_checked_like_what_the_user_named(
    template: str, canary: Canary, site: "Site"
) -> None:
    url = template.replace("{port}", str(canary.port))
    site.pages["/"] = (302, {"Location": url.encode().decode("latin-1")}, b"")
    ports = frozenset({site.port, canary.port})
    # The page's own address may be connected to, besides public ones.
    access = Access(resolve=_with_site, is_allowed=_allows_site, ports=ports)
    with pytest.raises(IngestError):
        fetch(site.url("/"), access)
    assert site.asked == ["/"]
    assert not canary.has_seen()


def test_a_name_is_resolved_once_and_its_address_connected_to() -> None:
    answers = iter([["93.184.216.34"], ["127.0.0.1"]])
    backend = _Recording("93.184.216.34")
    public = Public(Access(resolve=lambda host, port: next(answers)), _LATER, backend=backend)
    public.connect_tcp("rebinding.example", 80)
    assert backend.connected == ["93.184.216.34"]
    with pytest.raises(
        IngestError, match=r"rebinding\.example leads to 127\.0\.0\.1, which is not"
    ):
        public.connect_tcp("rebinding.example", 80)
    assert backend.connected == ["93.184.216.34"]


def test_the_socket_is_asked_who_is_there_before_anything_is_said() -> None:
    backend = _Recording("10.0.0.1")  # as behind a proxy that the system has put in between
    public = Public(Access(resolve=lambda host, port: ["93.184.216.34"]), _LATER, backend=backend)
    with pytest.raises(IngestError, match=r"leads to 10\.0\.0\.1, not to 93\.184\.216\.34"):
        public.connect_tcp("public.example", 80)
    assert backend.stream.closed
    assert not backend.stream.written


def test_a_second_address_is_tried_when_the_first_does_not_answer() -> None:
    backend = _Recording("93.184.216.35", dead={"93.184.216.34"})
    addresses = ["93.184.216.34", "93.184.216.35"]
    public = Public(Access(resolve=lambda host, port: addresses), _LATER, backend=backend)
    public.connect_tcp("public.example", 80)
    assert backend.connected == addresses


def test_a_page_comes_with_its_final_url(site: "Site") -> None:
    site.pages["/start"] = (301, {"Location": "next?a=1"}, b"ignored")
    site.pages["/next?a=1"] = (307, {"Location": site.url("/end#part")}, b"")
    site.pages["/end"] = (200, {"Content-Type": "Text/HTML; charset=utf-8"}, b"<p>text</p>")
    fetched = fetch(site.url("/start"), site.access)
    assert (fetched.url, fetched.media_type) == (site.url("/end"), "text/html")
    assert fetched.data == b"<p>text</p>"
    assert site.asked == ["/start", "/next?a=1", "/end"]
    assert site.names == [f"public.example:{site.port}"] * 3


def test_no_cookie_comes_back_and_no_proxy_or_password_is_taken_from_the_environment(
    site: "Site", canary: Canary, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{canary.port}")
    (tmp_path / ".netrc").write_text("default login me password secret\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    site.pages["/a"] = (302, {"Location": "/b", "Set-Cookie": "id=1; Path=/"}, b"")
    site.pages["/b"] = (200, {"Content-Type": "text/plain"}, b"x")
    assert fetch(site.url("/a"), site.access).data == b"x"
    assert not canary.has_seen()
    assert {name.lower() for name in site.headers} == {
        *("host", "accept", "accept-encoding", "user-agent"),
    }


def test_redirects_come_to_an_end(site: "Site") -> None:
    site.pages["/"] = (302, {"Location": "/"}, b"")
    with pytest.raises(IngestError, match="more than 5 redirects"):
        fetch(site.url("/"), site.access)
    assert len(site.asked) == 6


@pytest.mark.parametrize(
    ("status", "headers", "body", "reason"),
    [
        (404, {}, b"x", "the server answered 404 Not Found"),
        (500, {}, b"x", "the server answered 500"),
        (302, {}, b"x", "the server answered 302"),
        (
            302,
            {"Location": "ftp://public.example/"},
            b"",
            "a redirect to a bad address: not a plain",
        ),
        (200, {}, b"x" * 100_001, "larger than a page may be"),
        (
            200,
            {"Content-Encoding": "gzip"},
            gzip.compress(b"x" * 10**8, mtime=0),
            "larger than a page may",
        ),
        (200, {"Content-Encoding": "gzip"}, gzip.compress(b"x" * 900, mtime=0)[:-9], "is cut off"),
        (200, {"Content-Encoding": "gzip"}, b"nonsense", "what the server packed is damaged"),
        (200, {"Content-Encoding": "br"}, b"x", "the server packed it as 'br', unasked"),
        (200, {"Content-Encoding": "deflate"}, zlib.compress(b"x"), "packed it as 'deflate'"),
        (200, {"Content-Length": "50"}, b"x", "the server cannot be reached, or failed"),
        (200, {"X": "y" * 200_000}, b"x", "the server cannot be reached, or failed"),
    ],
)
def test_an_answer_that_is_no_page(
    site: "Site", status: int, headers: dict[str, str], body: bytes, reason: str
) -> None:
    site.pages["/"] = (status, headers, body)
    with pytest.raises(IngestError) as error:
        fetch(site.url("/"), replace(site.access, max_bytes=100_000))
    assert reason in error.value.reason


def test_a_packed_page_is_unpacked(site: "Site") -> None:
    text = b"".join(b"line %d\n" % number for number in range(9_000))
    site.pages["/"] = (200, {"Content-Encoding": "gzip"}, gzip.compress(text) + b"after it")
    assert fetch(site.url("/"), site.access).data == text


def test_a_server_that_drips_comes_to_its_end(site: "Site") -> None:
    # Each drop comes within the limit on silence, headers and body alike.
    site.drip_s = 0.02
    site.pages["/"] = (200, {}, b"x" * 1000)
    access = replace(site.access, silence_s=5, total_s=0.3)
    with pytest.raises(IngestError, match=r"longer than 0\.3 s in all"):
        fetch(site.url("/"), access)


def test_a_page_becomes_an_item_of_the_format_that_the_server_says(site: "Site") -> None:
    site.pages["/a/leave%20policy"] = (200, {"Content-Type": "text/html;charset=x"}, b"<p>x")
    site.pages["/b.md"] = (200, {"Content-Type": "text/plain"}, b"# x")
    site.pages["/c"] = (200, {"Content-Type": "text/plain"}, b"x")
    site.pages["/d.pdf"] = (200, {}, b"%PDF")
    site.pages["/e"] = (200, {"Content-Type": "video/mp4"}, b"x")
    site.pages["/f"] = (302, {"Location": "/c"}, b"")
    places = [site.url(path) for path in ("/a/leave%20policy", "/b.md", "/c", "/d.pdf", "/e", "/f")]
    listing = find(places, settings=Settings(web="on"), access=site.access)
    items = {item.uri.removeprefix(site.url("")): item for item in listing}
    assert {path: (item.suffix, item.name) for path, item in items.items()} == {
        "/a/leave%20policy": (".html", "leave policy"),
        "/b.md": (".md", "b"),
        "/c": (".txt", "c"),  # once, although another address leads to it
        "/d.pdf": (".pdf", "d"),
        "/e": (".txt", ""),
    }
    assert items["/b.md"].read(9) == b"# x"
    with pytest.raises(IngestError, match="a page of type video/mp4, which is not read"):
        items["/e"].read(9)
    assert not listing.covers(site.url("/gone"))
    # A run that begins again does not fetch again.
    count = len(site.asked)
    list(listing)
    assert len(site.asked) == count


def test_a_failure_is_reported_under_the_address_that_was_named(site: "Site") -> None:
    (item,) = find(
        [site.url("/gone")],
        SourceOptions(title="T"),
        settings=Settings(web="on"),
        access=site.access,
    )
    assert item.uri == site.url("/gone")
    with pytest.raises(IngestError, match="answered 404"):
        item.read(1)


@pytest.mark.parametrize(
    ("declared", "body", "text"),
    [
        ("text/html; charset=GBK", "<meta charset=utf-8><p>年假".encode("gbk"), "年假\n"),
        ('TEXT/HTML;a=b; Charset="gb2312"', "<p>年假".encode("gbk"), "年假\n"),
        ("text/plain; charset=iso-8859-1", "Größe".encode("latin-1"), "Größe"),
        ("text/plain; charset=big5", "發票".encode("big5"), "發票"),
        ("text/html; charset=utf-8", "<meta charset=gbk><p>Größe".encode(), "Größe\n"),
        ("text/html; mycharset=utf-8", "<meta charset=gbk><p>年假".encode("gbk"), "年假\n"),
        ("text/csv; charset=gbk", "年假,天\n".encode("gbk"), "| 年假 | 天 |\n| - | - |\n"),
    ],
)
def test_a_page_is_read_in_the_charset_that_the_server_says(
    site: "Site", declared: str, body: bytes, text: str
) -> None:
    site.pages["/a"] = (200, {"Content-Type": declared}, body)
    (item,) = find([site.url("/a")], settings=Settings(web="on"), access=site.access)
    assert parse_bytes(item.read(1 << 20), item.suffix).text == text


def test_over_tls_the_certificate_is_checked_against_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = _certificate(tmp_path, "public.example")
    site = Site(certificate)
    site.pages["/"] = (200, {"Content-Type": "text/plain"}, b"secret")
    url = site.url("/").replace("http:", "https:")
    try:
        with pytest.raises(IngestError, match="CERTIFICATE_VERIFY_FAILED"):
            fetch(url, site.access)
        monkeypatch.setattr("certifi.where", lambda: str(certificate))
        assert fetch(url, site.access).data == b"secret"
        anybody = replace(site.access, resolve=lambda host, port: [SITE])
        with pytest.raises(IngestError, match="Hostname mismatch"):
            fetch(url.replace("public", "other"), anybody)
    finally:
        site.close()
    assert site.asked == ["/"]


_LATER = 10.0**9

Answer = tuple[int, dict[str, str], bytes]


class Site:
    """A server on loopback that is known as public.example, by a seam that only tests use."""

    def __init__(self, certificate: Path | None = None) -> None:
        self.pages: dict[str, Answer] = {}
        self.asked: list[str] = []
        self.names: list[str] = []
        self.headers: list[str] = []
        self.drip_s = 0.0
        self._stopped = threading.Event()
        self._server = http.server.ThreadingHTTPServer((SITE, 0), self._handler())
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.access = Access(
            resolve=_with_site, is_allowed=_allows_site, ports=frozenset({self.port})
        )

    def url(self, path: str) -> str:
        return f"http://public.example:{self.port}{path}"

    def close(self) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(self.path)
                site.names.append(self.headers["Host"])
                site.headers += self.headers.keys()
                status, headers, body = site.pages.get(self.path, (404, {}, b""))
                lines = [f"HTTP/1.1 {status} {'Not Found' if status == 404 else ''}"]
                lines += [f"{name}: {value}" for name, value in headers.items()]
                if "Content-Length" not in headers:
                    lines.append(f"Content-Length: {len(body)}")
                site.send(self.wfile.write, "\r\n".join([*lines, "", ""]).encode("latin-1") + body)

            def log_message(self, format: str, *args: object) -> None:
                return

        return Handler

    def send(self, write: Callable[[bytes], object], data: bytes) -> None:
        with suppress(ConnectionError):
            if not self.drip_s:
                write(data)
                return
            for at in range(len(data)):
                if self._stopped.wait(self.drip_s):
                    return
                write(data[at : at + 1])


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


def _certificate(folder: Path, name: str) -> Path:
    """Make a certificate that signs itself, with its key, in one file."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    file = folder / "certificate.pem"
    subject = ["-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"]
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subprocess.run(
        ["openssl", "req", "-x509", *kind, *subject, "-keyout", file, "-out", file],
        check=True,
        capture_output=True,
    )
    return file


def _with_site(host: str, port: int) -> list[str]:
    return [SITE] if host == "public.example" else _resolve(host, port)


def _allows_site(address: str) -> bool:
    return address == SITE or is_public(address)


class _Stream(httpcore.NetworkStream):
    def __init__(self, peer: str) -> None:
        self.peer = peer
        self.written = b""
        self.closed = False

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self.written += buffer

    def close(self) -> None:
        self.closed = True

    def get_extra_info(self, info: str) -> Any:
        return (self.peer, 80) if info == "server_addr" else None


class _Recording(httpcore.NetworkBackend):
    """Connects to nobody, and says who would be on the other end."""

    def __init__(self, peer: str, dead: set[str] | None = None) -> None:
        self.stream = _Stream(peer)
        self.connected: list[str] = []
        self._dead = dead or set()

    def connect_tcp(self, host: str, *args: Any, **options: Any) -> _Stream:
        self.connected.append(host)
        if host in self._dead:
            raise httpcore.ConnectError("refused")
        return self.stream
