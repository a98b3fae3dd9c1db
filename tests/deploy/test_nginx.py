"""The nginx template, filled in as the container does, in a real nginx before a scripted server."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.places import ROOT

TEMPLATE = (ROOT / "deploy/nginx/nginx.conf.template").read_text("utf-8")
PROGRAM = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
needs_nginx = pytest.mark.skipif(
    PROGRAM is None or shutil.which("openssl") is None, reason="nginx or openssl is not installed"
)
NAME = "rag.example.org"


class Scripted(BaseHTTPRequestHandler):
    """Stands where `ragkit serve` does: echoes headers, streams two pieces on a signal."""

    protocol_version = "HTTP/1.1"
    go_on = threading.Event()
    bodies: ClassVar[list[int]] = []

    def do_GET(self) -> None:
        if self.path == "/stream":
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            self._chunk(b"data: one\n\n")
            self.go_on.wait(120)  # longer than the client waits
            self._chunk(b"data: two\n\n")
            self._chunk(b"")
        elif self.path == "/busy":
            self._say(503, {"error": {"message": "full"}}, {"retry-after": "7"})
        else:
            self._say(200, {"headers": [[k.lower(), v] for k, v in self.headers.items()]})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.bodies.append(len(body))
        self._say(200, {"bytes": len(body)})

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _say(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"content-length": str(len(data)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def upstream() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Scripted) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()


class Proxy:
    """A running nginx: what its ports are, and a client for them."""

    def __init__(self, folder: Path, upstream_port: int) -> None:
        self.folder = folder
        self.http, self.https, self.grafana = free_port(), free_port(), free_port()
        self.values = {
            "RAGKIT_SERVER_NAME": NAME,
            "RAGKIT_UPSTREAM": f"127.0.0.1:{upstream_port}",
            "RAGKIT_GRAFANA": f"127.0.0.1:{upstream_port}",
            "RAGKIT_RESOLVER": "127.0.0.1",
            "RAGKIT_HTTP": f"127.0.0.1:{self.http}",
            "RAGKIT_HTTPS": f"127.0.0.1:{self.https}",
            "RAGKIT_GRAFANA_LISTEN": f"127.0.0.1:{self.grafana}",
            "RAGKIT_TLS_CERTIFICATE": str(folder / "secrets/tls_certificate.pem"),
            "RAGKIT_TLS_KEY": str(folder / "secrets/tls_key.pem"),
            "RAGKIT_MAX_BODY_MB": "1",
            "RAGKIT_NGINX_PID": str(folder / "nginx.pid"),
            "RAGKIT_NGINX_RUN": str(folder),
            "RAGKIT_NGINX_LOG": str(folder / "access.log"),
        }

    @property
    def command(self) -> list[str]:
        assert PROGRAM is not None
        path = ["-c", str(self.folder / "nginx.conf"), "-e", str(self.folder / "error.log")]
        return [PROGRAM, "-p", str(self.folder), *path, "-g", "daemon off;"]

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        *,
        port: int | None = None,
    ) -> tuple[http.client.HTTPResponse, bytes]:
        connection = self.connect(port)
        try:
            connection.request(method, path, body, {"Host": NAME, **(headers or {})})
            response = connection.getresponse()
            return response, response.read()
        finally:
            connection.close()

    def connect(self, port: int | None = None) -> http.client.HTTPConnection:
        if port is not None:
            return http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        trust = ssl.create_default_context(cafile=self.values["RAGKIT_TLS_CERTIFICATE"])
        trust.check_hostname = False  # it is reached by its address
        return http.client.HTTPSConnection("127.0.0.1", self.https, timeout=60, context=trust)


def fill(values: dict[str, str]) -> str:
    """Do as the image's envsubst does: only the variables that are set, by their exact names."""
    return re.sub(r"\$\{(RAGKIT_\w+)\}", lambda found: values[found[1]], TEMPLATE)


@contextmanager
def proxy(folder: Path, upstream_port: int) -> Iterator[Proxy]:
    folder.chmod(0o755)
    script = shutil.copy(ROOT / "deploy/make-secrets.sh", folder / "make-secrets.sh")
    subprocess.run([script, NAME], check=True, capture_output=True)
    made = Proxy(folder, upstream_port)
    (folder / "nginx.conf").write_text(fill(made.values), encoding="utf-8")
    checked = subprocess.run([*made.command, "-t"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    assert "[warn]" not in checked.stderr.replace('[warn] the "user" directive', "")
    with subprocess.Popen(made.command) as process:
        try:
            deadline = time.monotonic() + 60
            while True:
                try:
                    if made.ask("GET", "/healthz", port=made.http)[0].status == 200:
                        break
                except OSError:
                    assert time.monotonic() < deadline
                    time.sleep(0.02)
            yield made
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with upstream() as port, proxy(tmp_path_factory.mktemp("nginx"), port) as made:
        yield made


def error_of(body: bytes) -> dict[str, Any]:
    error = json.loads(body)["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert isinstance(error, dict)
    return error


def test_template_uses_the_variables_that_the_compose_file_gives() -> None:
    text = (ROOT / "docker-compose.yml").read_text("utf-8")
    used = set(re.findall(r"\$\{(\w+)\}", TEMPLATE))
    service = text.partition("  nginx:\n")[2].partition("\n  serve:")[0]
    assert used == set(re.findall(r"^      (RAGKIT_\w+):", service, re.MULTILINE))
    assert used == set(Proxy(Path("/x"), 1).values)


@needs_nginx
def test_requests_reach_the_server_with_their_true_origin(running: Proxy) -> None:
    forged = {
        "X-Forwarded-For": "203.0.113.9",
        "X-Real-IP": "203.0.113.9",
        "Forwarded": "for=203.0.113.9",
        "X-Forwarded-Proto": "http",
        "X-Forwarded-Host": "evil.example",
        "X-Forwarded-Prefix": "/evil",
        "Authorization": "Bearer rk_1",
    }
    response, body = running.ask("GET", "/v1/models?a=b", headers=forged)
    assert response.status == 200
    seen = json.loads(body)["headers"]
    headers = dict(seen)
    assert len(headers) == len(seen)  # none came twice
    assert "203.0.113.9" not in str(seen)
    assert "evil" not in str(seen)
    assert headers["x-forwarded-for"] == headers["x-real-ip"] == "127.0.0.1"
    assert headers["x-forwarded-proto"] == "https"
    assert headers["host"] == headers["x-forwarded-host"] == NAME
    assert headers["authorization"] == "Bearer rk_1"
    assert response.headers["strict-transport-security"] == "max-age=31536000"
    assert "nginx/" not in str(response.headers)


@needs_nginx
def test_a_stream_is_passed_on_piece_by_piece(running: Proxy) -> None:
    Scripted.go_on.clear()
    connection = running.connect()
    try:
        connection.request("GET", "/stream", headers={"Host": NAME})
        response = connection.getresponse()
        assert response.readline() == b"data: one\n"  # while the second is not yet sent
        assert not Scripted.go_on.is_set()
        Scripted.go_on.set()
        assert response.read() == b"\ndata: two\n\n"
    finally:
        Scripted.go_on.set()
        connection.close()


@needs_nginx
@pytest.mark.parametrize(
    "path", ["/metrics", "/metrics/", "/METRICS", "/%6detrics", "//metrics", "/x/../metrics"]
)
def test_figures_are_not_shown_outside(running: Proxy, path: str) -> None:
    response, body = running.ask("GET", path)
    assert response.status == 404
    assert error_of(body)["code"] == "not_found"


@needs_nginx
def test_larger_bodies_are_refused_before_the_server_sees_them(running: Proxy) -> None:
    Scripted.bodies.clear()
    response, body = running.ask("POST", "/v1/collections/a/documents", b"x" * (1 << 20))
    assert (response.status, json.loads(body)) == (200, {"bytes": 1 << 20})
    response, body = running.ask("POST", "/v1/collections/a/documents", b"x" * ((1 << 20) + 1))
    assert response.status == 413
    assert error_of(body)["message"] == "the request is larger than 1 MB: send less"
    assert response.headers["content-type"] == "application/json"
    assert Scripted.bodies == [1 << 20]


@needs_nginx
def test_the_servers_own_refusal_stays_as_it_is(running: Proxy) -> None:
    response, body = running.ask("GET", "/busy")
    assert response.status == 503
    assert json.loads(body) == {"error": {"message": "full"}}
    assert response.headers.get_all("retry-after") == ["7"]


@needs_nginx
def test_plain_http_is_sent_to_https_under_the_servers_own_name(running: Proxy) -> None:
    response, _ = running.ask(
        "GET", "/v1/models?a=b", headers={"Host": "evil.example"}, port=running.http
    )
    assert response.status == 308
    assert response.headers["location"] == f"https://{NAME}/v1/models?a=b"
    response, body = running.ask("GET", "/", port=running.https)  # HTTP to the TLS port
    assert response.status == 400
    assert error_of(body)["code"] == "bad_request"


@needs_nginx
def test_too_large_headers_and_addresses_are_said_in_json(running: Proxy) -> None:
    response, body = running.ask("GET", "/", headers={"X-Long": "x" * 20_000})
    assert (response.status, error_of(body)["code"]) == (431, "headers_too_large")
    response, body = running.ask("GET", "/" + "x" * 20_000)
    assert (response.status, error_of(body)["code"]) == (414, "too_long")


@needs_nginx
@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"NONSENSE\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"400"),
        (b"GET /.error/bad HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", b"404"),
    ],
)
def test_malformed_requests_are_said_in_json(running: Proxy, sent: bytes, status: bytes) -> None:
    trust = ssl.create_default_context(cafile=running.values["RAGKIT_TLS_CERTIFICATE"])
    with (
        socket.create_connection(("127.0.0.1", running.https), timeout=60) as raw,
        trust.wrap_socket(raw, server_hostname=NAME) as secured,
    ):
        secured.sendall(sent)
        answer = b""
        while piece := secured.recv(4096):
            answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    if head.startswith(b"HTTP"):
        assert head.split()[1] == status
    error_of(body or answer)


@needs_nginx
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_old_tls_is_refused(running: Proxy) -> None:
    context = ssl.create_default_context(cafile=running.values["RAGKIT_TLS_CERTIFICATE"])
    with (
        socket.create_connection(("127.0.0.1", running.https), timeout=60) as raw,
        context.wrap_socket(raw, server_hostname=NAME) as secured,
    ):
        assert secured.version() == "TLSv1.3"
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.set_ciphers("ALL:@SECLEVEL=0")
    old.minimum_version = ssl.TLSVersion.TLSv1
    old.maximum_version = ssl.TLSVersion.TLSv1_1
    with (
        socket.create_connection(("127.0.0.1", running.https), timeout=60) as raw,
        pytest.raises(ssl.SSLError),
    ):
        old.wrap_socket(raw, server_hostname=NAME)


@needs_nginx
def test_access_log_holds_neither_query_nor_key(running: Proxy) -> None:
    running.ask("GET", "/login/callback?code=hunter2", headers={"Authorization": "Bearer hunter3"})
    log = running.folder / "access.log"
    deadline = time.monotonic() + 60
    while "/login/callback" not in (text := log.read_text("utf-8")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert "hunter" not in text
    for line in text.splitlines():
        assert {"time", "client", "path", "status"} <= json.loads(line).keys()


@needs_nginx
def test_server_that_is_down_is_said_in_json(tmp_path: Path) -> None:
    with proxy(tmp_path, free_port()) as made:
        for path in ("/v1/models", "/"):
            response, body = made.ask("GET", path)
            assert response.status == 503
            assert response.headers["retry-after"] == "5"
            assert error_of(body) == {
                "message": "the server does not answer: try again soon",
                "type": "server_error",
                "param": None,
                "code": "unavailable",
            }
        assert made.ask("GET", "/metrics")[0].status == 404
