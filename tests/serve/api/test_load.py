"""Under load and under faults: bounds, disconnects, slow readers, draining, a lost database."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from psycopg import sql

from ragkit.testing.stub_server.server import Fault, Reply, StubServer
from tests.serve.api.conftest import Live, Serve, Site

QUESTION = "How many days of paid holiday does an employee have?"


def body(model: str = "ragkit", **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": QUESTION}]} | more


def until(holds: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Wait until something holds; tell whether it came to."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def slow(words: int = 200, delay_s: float = 0.05) -> Callable[[Any], Reply]:
    return lambda messages: Reply("word " * words + "[1].", delay_s=delay_s)


def test_overload_is_turned_away_and_what_is_taken_is_answered(serve: Serve) -> None:
    """Eight questions run and sixteen wait until all others have been turned away."""
    free = threading.Event()

    def reply(messages: Any) -> str:
        assert free.wait(60)
        return "Word [1]."

    with (
        StubServer(reply) as stub,
        serve(
            llm_url=stub.url,
            llm_model="stub",
            serve_concurrency=8,
            serve_key_concurrency=100,
        ) as live,
    ):

        async def all_at_once() -> list[httpx.Response]:
            statuses: list[int] = []

            async def ask(client: httpx.AsyncClient) -> httpx.Response:
                response = await client.post("/v1/chat/completions", json=body())
                statuses.append(response.status_code)
                if len(statuses) == 16:
                    free.set()
                return response

            async with httpx.AsyncClient(base_url=live.url, timeout=60) as client:
                return await asyncio.gather(*(ask(client) for _ in range(40)))

        answers = asyncio.run(all_at_once())
        metrics = httpx.get(f"{live.url}/metrics").text
        assert stub.most_running <= 8
    statuses = [answer.status_code for answer in answers]
    assert (statuses.count(200), statuses.count(503)) == (24, 16)
    for answer in answers:
        if answer.status_code == 503:
            assert 1 <= int(answer.headers["retry-after"]) <= 60
            assert answer.json()["error"]["code"] == "overload"
    assert 'ragkit_rejections_total{reason="overload"} 16.0' in metrics
    assert "ragkit_in_flight 0.0" in metrics


def test_a_callers_own_quota_is_a_429(serve: Serve) -> None:
    with (
        StubServer(slow()) as stub,
        serve(llm_url=stub.url, llm_model="stub", serve_key_concurrency=1) as live,
        httpx.Client(base_url=live.url, timeout=30) as client,
    ):
        with client.stream("POST", "/v1/chat/completions", json=body(stream=True)) as first:
            pieces = first.iter_bytes()  # kept: forgotten, it would hang up
            next(pieces)
            second = client.post("/v1/chat/completions", json=body())
        assert second.status_code == 429
        assert second.headers["retry-after"]
        assert second.json()["error"]["code"] == "concurrency"


@pytest.mark.parametrize("model", ["ragkit", "stub"])
@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_stops_the_model(serve: Serve, model: str, stream: bool) -> None:
    reply = slow(2000) if stream else lambda messages: Reply("Late [1].", prefill_s=100)
    with StubServer(reply) as stub, serve(llm_url=stub.url, llm_model="stub") as live:
        sent = json.dumps(body(model, stream=stream)).encode()
        address = httpx.URL(live.url)
        with socket.create_connection((address.host, address.port or 80)) as conn:
            conn.sendall(
                b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                b"Content-Type: application/json\r\n"
                + f"Content-Length: {len(sent)}\r\n\r\n".encode()
                + sent
            )
            assert until(lambda: stub.running == 1)
            if stream:
                conn.recv(1000)
        left = time.monotonic()
        assert until(lambda: len(stub.disconnects) == 1)
        assert stub.disconnects[0] - left < 20  # of the hundred that the answer would take
        assert until(lambda: live.app.state.ragkit.admission.running == 0)


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.long
def test_disconnects_leave_nothing_behind(serve: Serve) -> None:
    with (
        StubServer(slow()) as stub,
        serve(llm_url=stub.url, llm_model="stub", serve_key_concurrency=100) as live,
    ):

        async def leave(client: httpx.AsyncClient, model: str) -> None:
            sent = body(model, stream=True)
            async with client.stream("POST", "/v1/chat/completions", json=sent) as answer:
                assert answer.status_code == 200
                await anext(answer.aiter_bytes())

        async def several(count: int) -> None:
            limits = httpx.Limits(max_keepalive_connections=0)
            async with httpx.AsyncClient(base_url=live.url, timeout=60, limits=limits) as client:
                for n in range(0, count, 8):
                    names = ["ragkit", "stub"] * 4
                    await asyncio.gather(
                        *(leave(client, names[i]) for i in range(min(8, count - n)))
                    )

        state = live.app.state.ragkit
        asyncio.run(several(8))
        assert until(lambda: state.admission.running == 0 and stub.running == 0)
        gc.collect()
        files, threads = _open_files(), threading.active_count()
        asyncio.run(several(48))
        assert until(lambda: state.admission.running == 0 and stub.running == 0)
        gc.collect()
        # The pool may have opened the rest of its eight connections meanwhile; a leak is 48.
        assert until(lambda: _open_files() <= files + 8), (_open_files(), files)
        assert until(lambda: threading.active_count() <= threads + 34)  # the pool's own threads
        assert until(lambda: _tasks(live) <= 3)
        stub.script = slow(5)
        assert httpx.post(f"{live.url}/v1/chat/completions", json=body(), timeout=60).is_success


def _tasks(live: Live) -> int:
    """Count the tasks on the server's loop."""
    loop = live.server._loop
    assert loop is not None
    return len(asyncio.all_tasks(loop))


def test_a_slow_reader_is_let_go(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragkit_serve.api.event_stream.SLOWEST_READ_S", 0.5)
    with StubServer(lambda messages: Reply("x" * 4000 + " ", delay_s=0)) as stub:
        stub.script = lambda messages: Reply(("x" * 200 + " ") * 20_000)
        with serve(llm_url=stub.url, llm_model="stub") as live:
            sent = json.dumps(body("stub", stream=True)).encode()
            address = httpx.URL(live.url)
            with socket.socket() as conn:
                conn.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                conn.connect((address.host, address.port or 80))
                conn.sendall(
                    b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                    b"Content-Type: application/json\r\n"
                    + f"Content-Length: {len(sent)}\r\n\r\n".encode()
                    + sent
                )
                conn.recv(100)
                assert until(lambda: live.app.state.ragkit.admission.running == 1)
                assert until(lambda: live.app.state.ragkit.admission.running == 0)


def test_draining_finishes_what_runs_and_takes_nothing_new(serve: Serve) -> None:
    draining = threading.Event()

    def answer(messages: Any) -> Reply:
        assert draining.wait(60)
        return Reply("word " * 40 + "[1].", delay_s=0.01)

    with (
        StubServer(answer) as stub,
        serve(
            llm_url=stub.url, llm_model="stub", serve_grace_s=60, serve_key_concurrency=10
        ) as live,
        httpx.Client(base_url=live.url, timeout=30) as client,
    ):

        def drain() -> None:
            _drain(live, client)
            draining.set()

        texts = _five_streams(live, drain)
    assert all(text.rstrip().endswith("data: [DONE]") for text in texts)


def test_what_still_runs_after_the_grace_time_ends_with_an_error_event(serve: Serve) -> None:
    with (
        StubServer(slow(2000)) as stub,
        serve(
            llm_url=stub.url, llm_model="stub", serve_grace_s=0.5, serve_key_concurrency=10
        ) as live,
    ):
        texts = _five_streams(live, lambda: live.server.handle_exit(15, None))
        assert until(lambda: stub.running == 0)
    for text in texts:
        last = text.rstrip().rpartition("data: ")[2]
        assert json.loads(last)["error"]["code"] == "draining"
        assert "[DONE]" not in text


def _drain(live: Live, client: httpx.Client) -> None:
    live.server.handle_exit(15, None)
    assert until(lambda: live.app.state.ragkit.admission.draining)
    assert client.get("/readyz").status_code == 503
    assert client.get("/livez").status_code == 200
    refused = client.post("/v1/chat/completions", json=body())
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "draining")
    assert refused.headers["retry-after"]


def _five_streams(live: Live, meanwhile: Callable[[], None]) -> list[str]:
    """Do something while five streams run; return all that each said."""
    texts: list[str] = []

    def read() -> None:
        with httpx.stream(
            "POST", f"{live.url}/v1/chat/completions", json=body(stream=True), timeout=60
        ) as answer:
            texts.append(answer.read().decode())

    threads = [threading.Thread(target=read) for _ in range(5)]
    for thread in threads:
        thread.start()
    assert until(lambda: live.app.state.ragkit.admission.running == 5)
    meanwhile()
    for thread in threads:
        thread.join(60)
    assert len(texts) == 5
    return texts


def test_a_stalled_model_server_is_an_error_after_its_timeout(serve: Serve) -> None:
    with (
        StubServer(lambda messages: Fault(cut="stall", text="Half")) as stub,
        serve(llm_url=stub.url, llm_model="stub", llm_timeout_s=0.5) as live,
    ):
        for model in ("ragkit", "stub"):
            with httpx.stream(
                "POST",
                f"{live.url}/v1/chat/completions",
                json=body(model, stream=True),
                timeout=30,
            ) as answer:
                text = answer.read().decode()
            assert '"error"' in text
            assert "[DONE]" not in text


@pytest.mark.usefixtures("alone")
def test_a_lost_database_is_waited_for(serve: Serve, site: Site, database_url: str) -> None:
    """All connections are cut and none is let in until that is noticed; nothing fails for good."""
    name = psycopg.conninfo.conninfo_to_dict(site.url)["dbname"]
    identifier = sql.Identifier(str(name))
    with serve() as live, psycopg.connect(database_url, autocommit=True) as admin:
        url = f"{live.url}/v1/chat/completions"
        assert httpx.post(url, json=body(), timeout=30).status_code == 200
        admin.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(identifier))
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
        )
        answers: list[httpx.Response] = []
        asking = threading.Thread(
            target=lambda: answers.append(httpx.post(url, json=body(), timeout=60))
        )
        asking.start()
        assert httpx.get(f"{live.url}/readyz", timeout=30).status_code == 503
        assert httpx.get(f"{live.url}/livez", timeout=30).status_code == 200
        admin.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true").format(identifier))
        asking.join(60)
        assert answers[0].status_code in {200, 503}
        assert until(lambda: httpx.get(f"{live.url}/readyz", timeout=30).is_success)
        assert httpx.post(url, json=body(), timeout=60).status_code == 200


def test_multi_byte_characters_survive_any_cut(serve: Serve, tmp_path: Path) -> None:
    """The upstream sends its bytes one at a time."""
    text = "é 你好 🛩 ñ"
    with _one_byte_at_a_time(text) as url, serve(llm_url=url, llm_model="stub") as live:
        for model in ("stub", "ragkit"):
            with httpx.stream(
                "POST",
                f"{live.url}/v1/chat/completions",
                json=body(model, stream=True),
                timeout=30,
            ) as answer:
                lines = [
                    line.removeprefix("data: ")
                    for line in answer.iter_lines()
                    if line.startswith("data: {")
                ]
            chunks = [json.loads(line) for line in lines]
            said = "".join(
                choice["delta"].get("content") or ""
                for chunk in chunks
                for choice in chunk["choices"]
            )
            assert said == text


class _one_byte_at_a_time:
    """A model server, as far as it needs to be, that writes each byte on its own."""

    def __init__(self, text: str) -> None:
        self._events = [
            {"role": "assistant", "content": ""},
            *({"content": character} for character in text),
        ]

    def __enter__(self) -> str:
        self._listening = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._serve, daemon=True).start()
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}/v1"

    def __exit__(self, *exception: object) -> None:
        self._listening.close()

    def _serve(self) -> None:
        while True:
            try:
                conn, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(conn,), daemon=True).start()

    def _answer(self, conn: socket.socket) -> None:
        with conn, conn.makefile("rb") as reader:
            request = reader.readline()
            length = 0
            while (line := reader.readline()) not in {b"\r\n", b""}:
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            reader.read(length)
            conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if b"/chat/completions" not in request:
                conn.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}")
                return
            conn.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
            )
            for byte in b"".join(self._frames()):
                conn.sendall(bytes([byte]))

    def _frames(self) -> list[bytes]:
        deltas: list[tuple[dict[str, str], str | None]] = [(one, None) for one in self._events]
        frames = []
        for delta, reason in [*deltas, ({}, "stop")]:
            chunk = {
                "id": "x",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": "stub",
                "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
            }
            frames.append(f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode())
        return [*frames, b"data: [DONE]\n\n"]


@pytest.mark.parametrize(
    "sent", [b"", b"GET /livez HT", b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-A: b\r\n"]
)
def test_a_request_that_never_ends_is_hung_up_on(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr("ragkit_serve.web.connections.LONGEST_HEAD_S", 0.3)
    with serve() as live:
        address = httpx.URL(live.url)
        with socket.create_connection((address.host, address.port or 80), 10) as conn:
            conn.sendall(sent)
            assert conn.recv(1000) == b""
        # One that is complete may take its time.
        assert httpx.get(f"{live.url}/livez").status_code == 200


def test_a_body_that_stops_coming_is_refused(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragkit_serve.api.bodies.LONGEST_SILENCE_S", 0.3)
    with serve() as live:
        address = httpx.URL(live.url)
        with socket.create_connection((address.host, address.port or 80), 10) as conn:
            conn.sendall(
                b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\n"
                b'Content-Type: application/json\r\nContent-Length: 50\r\n\r\n{"query'
            )
            assert b" 408 " in conn.recv(1000)


@pytest.mark.usefixtures("alone")
def test_uploads_that_break_off_leave_nothing_behind(serve: Serve) -> None:
    with serve() as live:
        host, port = live.url.removeprefix("http://").split(":")
        head = (
            f"POST /v1/collections/default/documents HTTP/1.1\r\nHost: {host}:{port}\r\n"
            "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 900000\r\n\r\n"
            '--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
        )
        for _ in range(5):
            with socket.create_connection((host, int(port))) as connection:
                connection.sendall(head.encode() + b"a" * 500_000)
        sent = httpx.post(
            f"{live.base}/collections/default/documents", files={"file": ("b.txt", b"whole")}
        )
        assert sent.status_code == 202
        jobs = httpx.get(f"{live.base}/jobs").json()["data"]
        assert [job["name"] for job in jobs] == ["b.txt"]
