"""The written configuration in a real nginx before real servers: routes, streams, failures."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import socketserver
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from ragkit_serve.model.gateway import config, nginx
from ragkit_serve.model.gateway.backends import parse_backend
from ragkit_serve.model.gateway.config import Gateway
from ragkit_serve.stub import Fault, Reply, StubServer

PROGRAM = nginx.find_nginx()
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="nginx is not installed")

KEY, SERVERS_KEY = "Client-key.1234", "servers-key-5678"
HEADERS = {"Authorization": f"Bearer {KEY}"}
TRUST = ssl.create_default_context()  # made once: it takes longer than a request


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def poll(condition: Callable[[], bool], seconds: float = 60) -> bool:
    deadline = time.monotonic() + seconds
    while not (so := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return so


@contextmanager
def running(folder: Path, *urls: str, **options: object) -> Iterator[str]:
    """Run the gateway before these servers; gives its address without /v1."""
    assert PROGRAM is not None
    port = free_port()
    given: dict[str, object] = {"client_keys": [KEY], "backend_key": SERVERS_KEY}
    gateway = Gateway(
        backends=[parse_backend(url) for url in urls],
        listen=f"127.0.0.1:{port}",
        **(given | options),  # type: ignore[arg-type]
    )
    config.write(config.files(gateway, folder), folder)
    nginx.check(PROGRAM, folder)
    command = [str(PROGRAM), "-p", str(folder), "-c", str(folder / config.CONFIG)]
    with subprocess.Popen([*command, "-e", "stderr", "-g", "daemon off;"]) as process:
        try:
            url = f"http{'s' if gateway.certificate else ''}://127.0.0.1:{port}"
            assert poll(lambda: answers(url))
            yield url
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz", verify=False).status_code == 200  # noqa: S501  a certificate of the test
    except httpx.TransportError:
        return False


def body(text: str, *, stream: bool = False) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": text}], "model": "stub", "stream": stream}


def chat(url: str, text: str = "hello", **headers: str) -> httpx.Response:
    return httpx.post(
        f"{url}/v1/chat/completions",
        json=body(text),
        headers=HEADERS | headers,
        timeout=60,
        verify=TRUST,
    )


@pytest.fixture
def servers() -> Iterator[tuple[StubServer, StubServer]]:
    with (
        StubServer(lambda messages: "I am A", api_key=SERVERS_KEY) as a,
        StubServer(lambda messages: "I am B", api_key=SERVERS_KEY) as b,
    ):
        yield a, b


def said(response: httpx.Response) -> str:
    assert response.status_code == 200, response.text
    return str(response.json()["choices"][0]["message"]["content"])


def test_one_key_outside_another_inside_and_both_servers_work(
    tmp_path: Path, servers: tuple[StubServer, StubServer]
) -> None:
    with running(tmp_path, *(server.url for server in servers)) as url:
        assert {said(chat(url)) for _ in range(20)} == {"I am A", "I am B"}
        models = httpx.get(f"{url}/v1/models", headers=HEADERS).json()
        assert models["data"][0]["id"] == "stub"
        headers = servers[0].requests[0].headers
        assert headers["authorization"] == f"Bearer {SERVERS_KEY}"
        assert "x-request-id" in headers
        log = (tmp_path / "access.log").read_text()
        assert "POST /v1/chat/completions 200" in log
        assert "hello" not in log
        assert KEY not in log
    for name in ("clients.conf", "backends.conf", "nginx.conf"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, StubServer]]:
    """A gateway for tests that only ask, and the server behind it."""
    with (
        StubServer(lambda messages: "I am A", api_key=SERVERS_KEY) as server,
        running(tmp_path_factory.mktemp("gateway"), server.url) as url,
    ):
        yield url, server


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer wrong", f"Bearer {KEY.lower()}", f"Bearer {KEY}x", f"Basic {KEY}"],
)
def test_no_or_a_wrong_key_gets_nowhere(
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
def test_every_other_path_is_absent_even_with_the_key(
    guarded: tuple[str, StubServer], method: str, path: str
) -> None:
    url, server = guarded
    server.requests.clear()
    host, _, port = url.removeprefix("http://").partition(":")
    request = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n"
    with socket.create_connection((host, int(port))) as raw:  # no client tidies the path up
        raw.sendall(f"{request}Content-Length: 2\r\nConnection: close\r\n\r\n{{}}".encode())
        answer = b"".join(iter(lambda: raw.recv(65536), b"")).decode()
    assert answer.startswith("HTTP/1.1 404")
    assert "nginx/" not in answer
    assert json.loads(answer.partition("\r\n\r\n")[2])["error"]["type"] == "not_found_error"
    assert server.requests == []


def test_a_path_written_otherwise_arrives_as_what_it_was_let_in_for(
    guarded: tuple[str, StubServer],
) -> None:
    url, server = guarded
    odd = httpx.post(f"{url}//v1/%63hat/completions", json=body("hello"), headers=HEADERS)
    assert said(odd) == "I am A"
    assert server.requests[-1].path == "/v1/chat/completions"


class WordByWord(ThreadingHTTPServer):
    """Streams twenty words, each as soon as the client has read the word before."""

    daemon_threads = True
    words = 20

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
            for word in range(self.server.words):
                self.wfile.write(f"data: {word}\n\n".encode())
                if not self.server.read.acquire(timeout=60):
                    return

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""


def test_tokens_pass_as_they_come(tmp_path: Path) -> None:
    with WordByWord() as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        with (
            running(tmp_path, f"http://127.0.0.1:{server.server_address[1]}") as url,
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


def test_a_full_server_hands_on_and_two_say_when_to_come_back(
    tmp_path: Path, servers: tuple[StubServer, StubServer]
) -> None:
    a, b = servers
    a.script = lambda messages: Fault(status=503, message="queue full")
    with running(tmp_path, a.url, b.url) as url:
        assert {said(chat(url)) for _ in range(10)} == {"I am B"}
        b.script = a.script
        full = chat(url)
        assert full.status_code == 503
        assert full.headers["retry-after"] == "1"
    with running(tmp_path / "down", "http://127.0.0.1:1") as url:
        down = chat(url)
        assert down.status_code == 503
        assert "no model server answers" in down.json()["error"]["message"]


def test_prompts_that_begin_alike_go_to_one_server_and_move_only_when_it_is_down(
    tmp_path: Path, servers: tuple[StubServer, StubServer]
) -> None:
    a, b = servers
    with running(tmp_path, a.url, b.url, balance="prefix", prefix_chars=200, max_body_mb=1) as url:
        prompts = [f"prompt {n} " + "x" * 300 for n in range(24)]
        before = [said(chat(url, prompt + "one")) for prompt in prompts]
        assert set(before) == {"I am A", "I am B"}
        assert [said(chat(url, prompt + "two")) for prompt in prompts] == before
        named = [said(chat(url, f"{n}", **{"X-Prompt-Prefix": "abcdef0123"})) for n in range(6)]
        assert len(set(named)) == 1
        long = said(chat(url, "长" * 200_000))  # beyond any buffer's first page
        assert long in {"I am A", "I am B"}
        a.script = lambda messages: Fault(status=503)
        after = [said(chat(url, prompt)) for prompt in prompts]
        assert set(after) == {"I am B"}


def test_a_server_that_is_down_moves_only_its_own_prompts(tmp_path: Path) -> None:
    with (
        StubServer(lambda messages: "A", api_key=SERVERS_KEY) as a,
        StubServer(lambda messages: "B", api_key=SERVERS_KEY) as b,
        StubServer(lambda messages: "C", api_key=SERVERS_KEY) as c,
        running(tmp_path, a.url, b.url, c.url, balance="prefix", prefix_chars=200) as url,
    ):
        prompts = [f"prompt {n} " + "x" * 300 for n in range(40)]
        before = [said(chat(url, prompt)) for prompt in prompts]
        shares = {name: before.count(name) / len(before) for name in "ABC"}
        assert min(shares.values()) > 0.1, shares  # a third each, more or less
        c.script = lambda messages: Fault(status=503)
        after = [said(chat(url, prompt)) for prompt in prompts]
        assert [x for x, y in zip(before, after, strict=True) if y != x] == ["C"] * before.count(
            "C"
        )
        assert set(after) == {"A", "B"}


class UnixServer(socketserver.ThreadingUnixStreamServer):
    """Answers every POST with the Authorization it was given, over a unix socket."""

    daemon_threads = True

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            answer = self.headers["Authorization"].encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""


def test_a_server_at_a_unix_socket() -> None:
    with tempfile.TemporaryDirectory() as name:  # a socket's path is at most 107 bytes
        folder = Path(name)
        folder.chmod(0o755)  # as root, nginx works under another user's name
        with UnixServer(f"{folder}/s", UnixServer.Handler) as server:
            (folder / "s").chmod(0o666)
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
            with running(folder / "gateway", f"unix:{folder}/s") as url:
                assert chat(url).text == f"Bearer {SERVERS_KEY}"
            server.shutdown()


def test_a_key_of_every_character_that_a_key_may_have(
    tmp_path: Path, servers: tuple[StubServer, StubServer]
) -> None:
    key = "aZ09._~+/=-aZ09._~+/=-"
    with running(tmp_path, servers[0].url, client_keys=[key, KEY]) as url:
        assert said(chat(url, Authorization=f"Bearer {key}")) == "I am A"
        assert said(chat(url)) == "I am A"
        assert chat(url, Authorization=f"Bearer {key.replace('.', 'x')}").status_code == 401


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_it_speaks_tls(tmp_path: Path, servers: tuple[StubServer, StubServer]) -> None:
    asked = "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -days 1"
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    options = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate]
    subprocess.run([*asked.split(), *map(str, options)], check=True, capture_output=True)
    with running(
        tmp_path / "gateway", servers[0].url, certificate=certificate, certificate_key=key
    ) as url:
        trusted = ssl.create_default_context(cafile=str(certificate))
        answer = httpx.post(
            f"{url}/v1/chat/completions", json=body("hello"), headers=HEADERS, verify=trusted
        )
        assert said(answer) == "I am A"
        plain = httpx.get(url.replace("https", "http") + "/healthz")
        assert plain.status_code == 400


def test_a_client_that_leaves_frees_its_server(
    tmp_path: Path, servers: tuple[StubServer, StubServer]
) -> None:
    servers[0].script = lambda messages: Reply("word " * 2000, delay_s=0.05)
    with running(tmp_path, servers[0].url) as url:
        with httpx.stream(
            "POST", f"{url}/v1/chat/completions", json=body("hello", stream=True), headers=HEADERS
        ) as lines:
            next(lines.iter_lines())
        left = time.monotonic()
        assert poll(lambda: servers[0].running == 0)
        assert servers[0].disconnects[0] - left < 20  # of a hundred


def test_so_does_one_that_leaves_while_its_prompt_is_read(
    tmp_path: Path, servers: tuple[StubServer, StubServer]
) -> None:
    servers[0].script = lambda messages: Reply("word", prefill_s=100)
    with running(tmp_path, servers[0].url) as url:
        data = json.dumps(body("hello", stream=True))
        request = (
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n"
        )
        host, _, port = url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port))) as raw:
            raw.sendall(f"{request}Content-Length: {len(data)}\r\n\r\n{data}".encode())
            assert poll(lambda: servers[0].running == 1)
        left = time.monotonic()
        assert poll(lambda: servers[0].running == 0)
        assert servers[0].disconnects[0] - left < 20  # of a hundred


def test_bodies_and_connections_are_bounded(
    tmp_path: Path, servers: tuple[StubServer, StubServer]
) -> None:
    refused = threading.Event()

    def answer(messages: object) -> str:
        refused.wait(60)
        return "word"

    with running(tmp_path, servers[0].url, max_body_mb=1, connections=2) as url:
        large = chat(url, "x" * 1_100_000)
        assert large.status_code == 413
        assert large.json()["error"]["type"] == "invalid_request_error"
        servers[0].script = answer

        def ask(number: int) -> int:
            code = chat(url, str(number)).status_code
            if code == 429:
                refused.set()
            return code

        with ThreadPoolExecutor(6) as pool:
            codes = list(pool.map(ask, range(6)))
        assert refused.is_set()
        assert set(codes) == {200, 429}


def test_killing_a_server_under_load_cuts_no_answer_silently_and_loses_no_request(
    tmp_path: Path,
) -> None:
    """40 streams over two processes, one killed while it answers; then 20 more."""
    program = str(Path(__file__).with_name("backend.py"))
    ports = free_port(), free_port()
    processes = [
        subprocess.Popen([sys.executable, program, str(port)], stdout=subprocess.PIPE)
        for port in ports
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline()
        with running(tmp_path, *(f"http://127.0.0.1:{port}" for port in ports)) as url:
            begun: list[float] = []
            with ThreadPoolExecutor(40) as pool:
                early = [pool.submit(stream, url, begun) for _ in range(20)]
                assert poll(lambda: len(begun) == 20)
                late = [pool.submit(stream, url, begun) for _ in range(20)]
                processes[0].kill()
                outcomes = [future.result(60) for future in early + late]
                again = [pool.submit(stream, url, []) for _ in range(20)]
                after = [future.result(60) for future in again]
        assert set(outcomes) <= {"whole", "broken"}
        assert "broken" in outcomes[:20]  # it was in the middle of some
        assert outcomes.count("broken") <= 20  # none that came after had to suffer
        assert after == ["whole"] * 20
    finally:
        for process in processes:
            process.kill()
            process.wait()


def stream(url: str, begun: list[float]) -> str:
    """Say how a streamed answer ended: "whole", "broken" (the client knows), "cut" (it does not),
    or a status.
    """
    lines: list[str] = []
    try:
        with httpx.stream(
            "POST",
            f"{url}/v1/chat/completions",
            json=body("go on", stream=True),
            headers=HEADERS,
            timeout=60,
            verify=TRUST,
        ) as response:
            if response.status_code != 200:
                return str(response.status_code)
            for line in response.iter_lines():
                if line and not lines:
                    begun.append(time.monotonic())
                lines.append(line)
    except httpx.TransportError:
        return "broken"
    return "whole" if "data: [DONE]" in lines else "cut"
