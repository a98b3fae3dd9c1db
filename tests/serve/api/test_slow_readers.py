"""Clients that open a stream and do not read it: what the server keeps for them."""

from __future__ import annotations

import gc
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import httpx
import pytest

from tests.serve.api.conftest import Live, Serve

CLIENTS: Final = 8
MEGABYTE: Final = 1 << 20
OFFERED: Final = 64 * MEGABYTE  # of each answer
TAKEN: Final = 24 * MEGABYTE  # most of it buffers of the operating system, of four sockets
MEMORY: Final = 96 * MEGABYTE  # of all clients together; without bounds it would be 512


class Flood:
    """A model server that sends long answers as fast as they are taken, and counts the bytes."""

    def __init__(self) -> None:
        self.sent: list[int] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/v1"
        delta = {"index": 0, "delta": {"content": "word " * 1600}, "finish_reason": None}
        chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "stub"}
        self._frame = f"data: {json.dumps({**chunk, 'choices': [delta]})}\n\n".encode()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                conn, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(conn,), daemon=True).start()

    def _answer(self, conn: socket.socket) -> None:
        with conn, conn.makefile("rb") as reader:
            request, length = reader.readline(), 0
            while (line := reader.readline()) not in {b"\r\n", b""}:
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            reader.read(length)
            if b"/chat/completions" not in request:
                conn.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}")
                return
            head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            conn.sendall(head + b"Connection: close\r\n\r\n")
            number = len(self.sent)
            self.sent.append(0)
            try:
                while self.sent[number] < OFFERED:
                    conn.sendall(self._frame)
                    self.sent[number] += len(self._frame)
            except OSError:  # the server has hung up
                return


@pytest.fixture
def flood() -> Iterator[Flood]:
    made = Flood()
    yield made
    made.close()


@pytest.mark.long
@pytest.mark.parametrize("model", ["stub", "ragkit"])
def test_what_is_not_read_is_not_kept(
    serve: Serve, flood: Flood, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    # Longer than eight searches take on a busy machine: each shows its sources before it asks the
    # model, and nobody reads them.
    monkeypatch.setattr("ragkit_serve.api.event_stream.SLOWEST_READ_S", 10.0)
    settings = {"serve_concurrency": 2 * CLIENTS, "serve_key_concurrency": 2 * CLIENTS}
    with serve(llm_url=flood.url, llm_model="stub", **settings) as live:
        stalled(live, model, 1)  # what is loaded once
        flood.sent.clear()
        before = resident_bytes()
        peak = stalled(live, model, CLIENTS)
        assert peak - before < MEMORY
        assert len(flood.sent) == CLIENTS
        assert max(flood.sent) < TAKEN
        assert httpx.get(f"{live.url}/livez", timeout=60).is_success


def stalled(live: Live, model: str, clients: int) -> int:
    """Open streams that are not read, until they are ended; return the peak of memory."""
    asked = {"model": model, "messages": [{"role": "user", "content": "How many days of leave?"}]}
    sent = json.dumps(asked | {"stream": True}).encode()
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n"
    )
    address, admission = httpx.URL(live.url), live.app.state.ragkit.admission
    gc.collect()
    peak, most, deadline = resident_bytes(), 0, time.monotonic() + 60
    with ExitStack() as stack:
        for _ in range(clients):
            conn = stack.enter_context(socket.socket())
            conn.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            conn.connect((address.host, address.port or 80))
            conn.sendall(head.encode() + sent)
        while most < clients or admission.running:
            assert time.monotonic() < deadline, (most, admission.running)
            most = max(most, admission.running)
            peak = max(peak, resident_bytes())
            time.sleep(0.01)
    return peak


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
