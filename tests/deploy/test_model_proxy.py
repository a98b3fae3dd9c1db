"""What deploy/nginx/models.conf lets through: keys, paths, sizes, TLS, streams piece by piece."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import socketserver
import ssl
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from ragkit.testing.stub_server.server import Reply, StubServer
from tests.deploy.model_proxy import (
    HEADERS,
    KEY,
    SERVERS_KEY,
    TEMPLATE,
    body,
    chat,
    content,
    model_proxy,
    needs_nginx,
    poll,
)
from tests.places import ROOT

pytestmark = needs_nginx


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, StubServer]]:
    """The proxy of the tests that only send requests, and the server behind it."""
    with (
        StubServer(lambda messages: "I am A", api_key=SERVERS_KEY) as server,
        model_proxy(tmp_path_factory.mktemp("models"), server.url) as url,
    ):
        yield url, server


def test_clients_and_servers_have_different_keys(tmp_path: Path) -> None:
    with (
        StubServer(lambda messages: "I am A", api_key=SERVERS_KEY) as server,
        model_proxy(tmp_path, server.url) as url,
    ):
        assert content(chat(url)) == "I am A"
        models = httpx.get(f"{url}/v1/models", headers=HEADERS).json()
        assert models["data"][0]["id"] == "stub"
        headers = server.requests[0].headers
        assert headers["authorization"] == f"Bearer {SERVERS_KEY}"
        assert "x-request-id" in headers
    log = (tmp_path / "access.log").read_text()
    assert "POST /v1/chat/completions 200" in log
    assert "hello" not in log
    assert KEY not in log


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer wrong", f"Bearer {KEY.lower()}", f"Bearer {KEY}x", f"Basic {KEY}"],
)
def test_a_missing_or_wrong_key_is_refused(
    guarded: tuple[str, StubServer], authorization: str
) -> None:
    url, server = guarded
    server.requests.clear()
    refused = chat(url, Authorization=authorization)
    assert refused.status_code == 401
    assert refused.json()["error"]["type"] == "authentication_error"
    doubled = [("Authorization", authorization or "x"), ("Authorization", f"Bearer {KEY}")]
    twice = httpx.post(f"{url}/v1/chat/completions", json=body("hello"), headers=doubled)
    assert twice.status_code in {400, 401}
    assert server.requests == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/metrics"),
        ("POST", "/invocations"),
        ("POST", "/tokenize"),
        ("POST", "/v1/load_lora_adapter"),
        ("POST", "/v1/chat/completions/"),
        ("POST", "/v1/chat/completions;x"),
        ("POST", "/v1/chat/completions%2f..%2f..%2finvocations"),
        ("POST", "/v1/../invocations"),
        ("POST", "/v1/%2e%2e/invocations"),
        ("POST", "//invocations"),
        ("POST", "/V1/chat/completions"),
        ("GET", "/v1/chat/completions"),
        ("POST", "/health"),
        ("DELETE", "/v1/models"),
        ("GET", "/"),
    ],
)
def test_other_paths_are_absent_even_with_the_key(
    guarded: tuple[str, StubServer], method: str, path: str
) -> None:
    url, server = guarded
    server.requests.clear()
    host, _, port = url.removeprefix("http://").partition(":")
    request = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n"
    with socket.create_connection((host, int(port))) as raw:  # no client normalises the path
        raw.sendall(f"{request}Content-Length: 2\r\nConnection: close\r\n\r\n{{}}".encode())
        answer = b"".join(iter(lambda: raw.recv(65536), b"")).decode()
    assert answer.startswith("HTTP/1.1 404")
    assert "nginx/" not in answer
    assert json.loads(answer.partition("\r\n\r\n")[2])["error"]["type"] == "not_found_error"
    assert server.requests == []


def test_a_path_in_another_spelling_arrives_under_the_listed_name(
    guarded: tuple[str, StubServer],
) -> None:
    url, server = guarded
    odd = httpx.post(f"{url}//v1/%63hat/completions", json=body("hello"), headers=HEADERS)
    assert content(odd) == "I am A"
    assert server.requests[-1].path == "/v1/chat/completions"


def test_the_health_of_a_server_needs_no_key(guarded: tuple[str, StubServer]) -> None:
    url, server = guarded
    assert httpx.get(f"{url}/healthz").json() == {"status": "ok"}
    httpx.get(f"{url}/health")
    assert server.requests[-1].path == "/health"


class WordByWord(ThreadingHTTPServer):
    """Stream twenty words, each as soon as the client has read the previous one."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.read = threading.Semaphore(0)

    class Handler(BaseHTTPRequestHandler):
        server: WordByWord

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for word in range(20):
                self.wfile.write(f"data: {word}\n\n".encode())
                if not self.server.read.acquire(timeout=60):
                    return

        def log_message(self, format: str, *args: object) -> None:
            """Write no log."""


def test_tokens_pass_at_once(tmp_path: Path) -> None:
    with WordByWord() as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        with (
            model_proxy(tmp_path, f"127.0.0.1:{server.server_port}") as url,
            httpx.stream(
                "POST",
                f"{url}/v1/chat/completions",
                json=body("hello", stream=True),
                headers=HEADERS,
                timeout=60,
            ) as answer,
        ):
            words = []
            for line in answer.iter_lines():
                if line:
                    words.append(line)
                    server.read.release()
        server.shutdown()
    assert words == [f"data: {word}" for word in range(20)]


class UnixServer(socketserver.ThreadingUnixStreamServer):
    """Answer every POST with its Authorization header, over a unix socket."""

    daemon_threads = True

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            answer = self.headers["Authorization"].encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            """Write no log."""


def test_a_server_at_a_unix_socket() -> None:
    with tempfile.TemporaryDirectory() as name:  # a socket's path is at most 107 bytes
        folder = Path(name)
        folder.chmod(0o755)  # as root, nginx's workers run as another user
        with UnixServer(f"{folder}/s", UnixServer.Handler) as server:
            (folder / "s").chmod(0o666)
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
            with model_proxy(folder / "models", f"unix:{folder}/s") as url:
                assert chat(url).text == f"Bearer {SERVERS_KEY}"
            server.shutdown()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_tls_to_clients_and_to_servers(tmp_path: Path) -> None:
    """One proxy with TLS stands before the server, another before the first, as its client."""
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -days 1"
    options = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate]
    subprocess.run([*command.split(), *map(str, options)], check=True, capture_output=True)
    listening = {
        "; # EDIT\n        # EDIT, to let other machines in": " ssl; #",
        "        # ssl_certificate cert.pem;": f"ssl_certificate {certificate};",
        "        # ssl_certificate_key key.pem;": f"ssl_certificate_key {key};",
    }
    lines = ("server_name on", "name gpu.example.org", "verify on", "trusted_certificate /etc")
    connecting = {f"# proxy_ssl_{line}": f"proxy_ssl_{line}" for line in lines} | {
        "gpu.example.org": "127.0.0.1",
        "/etc/ssl/certs/ca-certificates.crt": str(certificate),
    }
    connecting |= {
        f"proxy_pass http://models/{path};": f"proxy_pass https://models/{path};"
        for path in (
            "health",
            "v1/models",
            "v1/chat/completions",
            "v1/completions",
            "v1/embeddings",
        )
    }
    trusted = ssl.create_default_context(cafile=str(certificate))
    with (
        StubServer(lambda messages: "I am A", api_key=SERVERS_KEY) as server,
        model_proxy(tmp_path / "a", server.url, edits=listening, tls=True) as url,
        model_proxy(tmp_path / "b", url.removeprefix("https://"), edits=connecting) as outer,
    ):
        answer = httpx.post(
            f"{url}/v1/chat/completions", json=body("hello"), headers=HEADERS, verify=trusted
        )
        assert content(answer) == "I am A"
        assert httpx.get(url.replace("https", "http") + "/healthz").status_code == 400
        # The outer proxy presents the servers' key, which the inner one refuses: 401, not 503.
        assert chat(outer).status_code == 401


def test_sizes_and_connections_are_bounded(tmp_path: Path) -> None:
    refused = threading.Event()
    edits = {"limit_conn connections 256;": "limit_conn connections 2;"}

    def answer(messages: object) -> str:
        refused.wait(60)
        return "word"

    with (
        StubServer(answer, api_key=SERVERS_KEY) as server,
        model_proxy(tmp_path, server.url, edits=edits) as url,
    ):
        large = chat(url, "x" * 4_200_000)
        assert large.status_code == 413
        assert large.json()["error"]["type"] == "invalid_request_error"

        def ask(number: int) -> int:
            response = chat(url, str(number))
            if response.status_code == 429:
                assert response.headers["retry-after"] == "1"
                refused.set()
            return response.status_code

        with ThreadPoolExecutor(6) as pool:
            codes = list(pool.map(ask, range(6)))
        assert refused.is_set()
        assert set(codes) == {200, 429}


def test_requests_a_second_are_bounded_where_that_is_switched_on(tmp_path: Path) -> None:
    edits = {
        "# limit_req zone=requests burst=100 nodelay;": "limit_req zone=requests nodelay;",
        "rate=50r/s": "rate=1r/m",
    }
    with (
        StubServer(lambda messages: "I am A", api_key=SERVERS_KEY) as server,
        model_proxy(tmp_path, server.url, edits=edits) as url,
    ):
        assert [chat(url).status_code for _ in range(2)] == [200, 429]


@pytest.mark.parametrize(
    "reply",
    [Reply("word " * 2000, delay_s=0.05), Reply("word", prefill_s=100)],
    ids=["while the answer is written", "while the prompt is read"],
)
def test_a_client_that_disconnects_frees_its_server(tmp_path: Path, reply: Reply) -> None:
    with (
        StubServer(lambda messages: reply, api_key=SERVERS_KEY) as server,
        model_proxy(tmp_path, server.url) as url,
    ):
        data = json.dumps(body("hello", stream=True))
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n"
        host, _, port = url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port))) as raw:
            raw.sendall(f"{head}Content-Length: {len(data)}\r\n\r\n{data}".encode())
            assert poll(lambda: server.running == 1)
        disconnected = time.monotonic()
        assert poll(lambda: server.running == 0)
        assert server.disconnects[0] - disconnected < 20  # of a hundred


def test_the_commands_of_the_page_make_a_configuration_that_nginx_takes(tmp_path: Path) -> None:
    page = (ROOT / "docs/howto/several-machines.md").read_text("utf-8")
    made, started = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)[:2]
    (check,) = (line for line in started.splitlines() if line.endswith(" -t"))
    (tmp_path / "deploy").symlink_to(ROOT / "deploy")
    keys = {"RAGKIT_LLM_API_KEY": KEY, "SERVERS_KEY": SERVERS_KEY}
    path = f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin"
    done = subprocess.run(
        ["sh", "-euc", f"{made}\n{check}"],
        cwd=tmp_path,
        env=os.environ | keys | {"PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "models").stat().st_mode & 0o777 == 0o700
    for name in ("clients.conf", "servers-key.conf"):
        assert (tmp_path / "models" / name).stat().st_mode & 0o777 == 0o600
    assert KEY in (tmp_path / "models/clients.conf").read_text()


def test_the_configuration_holds_no_key() -> None:
    assert set(re.findall(r"earer (\w+)", TEMPLATE)) == {"KEY"}
    assert TEMPLATE.count("include ") == 2
