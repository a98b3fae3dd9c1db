"""The stub server's side of HTTP: requests in, OpenAI-shaped replies, streams and faults out.

It decides nothing about the content, which the script of its `StubServer` does.
"""

import hmac
import json
import select
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from ragkit.testing.stub_server.frames import (
    delta,
    embeddings,
    frames,
    pieces,
    prompt_pieces,
    whole,
)
from ragkit.testing.stub_server.script import Embed, Fault, Json, Reply, Request

if TYPE_CHECKING:
    from ragkit.testing.stub_server.server import StubServer

MAX_BODY_BYTES = 10_000_000  # arbitrary; hundreds of times a usual prompt


class StubHTTPServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], stub: "StubServer") -> None:
        super().__init__(address, _Handler)
        self.stub = stub

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report what went wrong, unless it is only a client that hung up."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: StubHTTPServer
    disable_nagle_algorithm = True  # otherwise each streamed piece waits for an acknowledgement
    timeout = 60  # an idle connection's thread ends
    gone = False  # the client, in the middle of an answer

    def do_GET(self) -> None:
        if not self._accepted({}):
            return
        if self.path != "/v1/models":
            self._error(404, f"no such path: {self.path}")
            return
        stub = self.server.stub
        model: Json = {"object": "model", "created": 0, "owned_by": "stub"}
        if stub.max_model_len is not None:
            model["max_model_len"] = stub.max_model_len
        self._json(200, {"object": "list", "data": [{"id": n, **model} for n in stub.models]})

    def do_POST(self) -> None:
        body = self._body()
        if body is None or not self._accepted(body):
            return
        if self.path == "/tokenize" and self.server.stub.tokenize:
            self._tokenize(body)
        elif self.path == "/v1/chat/completions":
            self._chat(body)
        elif self.path == "/v1/embeddings" and self.server.stub.embed:
            self._embeddings(body, self.server.stub.embed)
        else:
            self._error(404, f"no such path: {self.path}")

    def _tokenize(self, body: Json) -> None:
        tokens = list(range(len(pieces(str(body.get("prompt", ""))))))
        length = self.server.stub.max_model_len
        self._json(200, {"count": len(tokens), "max_model_len": length, "tokens": tokens})

    def _chat(self, body: Json) -> None:
        stub = self.server.stub
        messages = body.get("messages")
        if body.get("model") not in stub.models:
            self._error(404, f"The model `{body.get('model')}` does not exist.")
        elif not isinstance(messages, list) or not all(isinstance(m, dict) for m in messages):
            self._error(400, "messages must be a list of objects")
        else:
            with self._counted():
                answer = stub.by_model.get(str(body["model"]), stub.script)(messages)
                self._answer(Reply(answer) if isinstance(answer, str) else answer, body)

    def _embeddings(self, body: Json, embed: Embed) -> None:
        given = body.get("input")
        texts = [given] if isinstance(given, str) else given
        if body.get("model") not in self.server.stub.models:
            self._error(404, f"The model `{body.get('model')}` does not exist.")
        elif not isinstance(texts, list) or not all(isinstance(t, str) and t for t in texts):
            self._error(400, "input must be a text or a list of texts, none of them empty")
        else:
            vectors = embed(texts)
            if isinstance(vectors, Fault):
                self._answer(vectors, body)
            else:
                tokens = sum(self.server.stub.count(text) for text in texts)
                self._json(200, embeddings(vectors, tokens, body))

    @contextmanager
    def _counted(self) -> Iterator[None]:
        stub = self.server.stub
        with stub.guard:
            stub.running += 1
            stub.most_running = max(stub.most_running, stub.running)
        try:
            yield
        finally:
            with stub.guard:
                stub.running -= 1

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet: `StubServer.requests` is the log."""

    def _body(self) -> Json | None:
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit():
            return self._refuse(411, "Content-Length is missing")
        if len(length) > 10 or int(length) > MAX_BODY_BYTES:
            return self._refuse(413, f"the body is larger than {MAX_BODY_BYTES} bytes")
        try:
            body = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            return self._refuse(400, "the body is not JSON")
        return body if isinstance(body, dict) else self._refuse(400, "the body is not an object")

    def _refuse(self, status: int, message: str) -> Json | None:
        self.close_connection = True  # what is left of the body cannot be told from a new request
        self._error(status, message)
        return None

    def _accepted(self, body: Json) -> bool:
        stub = self.server.stub
        headers = {name.lower(): value for name, value in self.headers.items()}
        stub.requests.append(Request(self.command, self.path, headers, body))
        header = self.headers.get("Authorization", "").encode()
        if stub.api_key is None or hmac.compare_digest(header, f"Bearer {stub.api_key}".encode()):
            return True
        self._error(401, "Unauthorized")
        return False

    def _answer(self, answer: Reply | Fault, body: Json) -> None:
        if isinstance(answer, Reply):
            self._reply(answer, body)
        elif answer.hang:
            self._wait(self.timeout)
            self.close_connection = True
        elif answer.status != 200:
            self._error(answer.status, answer.message, _retry_after(answer))
        elif answer.malformed:
            kind = "text/event-stream" if body.get("stream") else "application/json"
            self._send(200, kind, b'data: {"choices": [{"delta"\n\n')
        else:
            self._cut(answer, body)

    def _reply(self, reply: Reply, body: Json) -> None:
        cached_tokens = self.server.stub.cache.see(prompt_pieces(body))
        if reply.prefill_s and not self._wait(reply.prefill_s):
            return
        if not body.get("stream"):
            self._json(200, whole(reply, body, cached_tokens))
            return
        self._open_stream()
        for frame in frames(reply, body, cached_tokens):
            if reply.delay_s and not self._wait(reply.delay_s):
                return
            self._event(json.dumps(frame, ensure_ascii=False))
        self._event("[DONE]")
        self._chunk(b"")

    def _cut(self, fault: Fault, body: Json) -> None:
        self._open_stream()
        for piece in pieces(fault.text):
            self._event(json.dumps(delta(body, {"content": piece}), ensure_ascii=False))
        # A stream that ends as HTTP wants it leaves a connection that can be used again: closed
        # behind its back, the client's next request would break.
        self.close_connection = fault.cut not in {"error", "garbage", "quiet"}
        if fault.cut == "stall":
            self._wait(self.timeout)
        elif fault.cut == "drip":
            while self._wait(fault.delay_s):
                self._chunk(b"d")
        elif fault.cut == "error":
            error = {"message": fault.message, "type": "stub_error", "code": 500}
            self._event(json.dumps({"error": error}))
            self._chunk(b"")
        elif fault.cut == "garbage":
            self._event('{"choices": [{"delta"')
            self._chunk(b"")
        elif fault.cut == "quiet":
            self._chunk(b"")

    def _wait(self, seconds: float) -> bool:
        """Wait, and return whether there is still someone to answer."""
        end = time.monotonic() + seconds
        stub = self.server.stub
        while not stub.closing.is_set():
            remaining_s = end - time.monotonic()
            if remaining_s <= 0:
                return True
            # A client says nothing while it waits: what can be read is that it has left.
            if select.select([self.connection], [], [], min(remaining_s, 0.05))[0]:
                self._left()
                return False
        self.close_connection = True
        return False

    def _left(self) -> None:
        self.close_connection = True
        if not self.gone:
            self.gone = True
            self.server.stub.disconnects.append(time.monotonic())

    def _open_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _event(self, data: str) -> None:
        self._chunk(f"data: {data}\n\n".encode())

    def _chunk(self, data: bytes) -> None:
        self._write(b"%x\r\n%s\r\n" % (len(data), data))

    def _error(
        self, status: int, message: str, headers: Mapping[str, object] | None = None
    ) -> None:
        error = {"message": message, "type": "stub_error", "param": None, "code": status}
        self._json(status, {"error": error}, headers)

    def _json(self, status: int, value: Json, headers: Mapping[str, object] | None = None) -> None:
        data = json.dumps(value, ensure_ascii=False).encode()
        self._send(status, "application/json", data, headers)

    def _send(
        self, status: int, kind: str, data: bytes, headers: Mapping[str, object] | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, str(value))
        self.end_headers()
        self._write(data)

    def _write(self, data: bytes) -> None:
        try:
            self.wfile.write(data)
        except ConnectionError:  # the client left; that is its right
            self._left()


def _retry_after(fault: Fault) -> Mapping[str, object]:
    if fault.retry_date_s is not None:
        return {"Retry-After": formatdate(time.time() + fault.retry_date_s, usegmt=True)}
    return {} if fault.retry_after_s is None else {"Retry-After": fault.retry_after_s}
