"""The stub server's side of HTTP: requests in, OpenAI-shaped replies, streams and faults out.

It decides nothing about the content, which the script of its `StubServer` does.
"""

import hmac
import json
import re
import sys
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from ragkit_serve.stub_script import Fault, Json, Reply, Request

if TYPE_CHECKING:
    from ragkit_serve.stub import StubServer

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

    def do_GET(self) -> None:
        if self._accepted({}):
            if self.path == "/v1/models":
                models = [
                    {"id": name, "object": "model", "created": 0, "owned_by": "stub"}
                    for name in self.server.stub.models
                ]
                self._json(200, {"object": "list", "data": models})
            else:
                self._error(404, f"no such path: {self.path}")

    def do_POST(self) -> None:
        body = self._body()
        if body is None or not self._accepted(body):
            return
        stub = self.server.stub
        messages = body.get("messages")
        if self.path != "/v1/chat/completions":
            self._error(404, f"no such path: {self.path}")
        elif body.get("model") not in stub.models:
            self._error(404, f"The model `{body.get('model')}` does not exist.")
        elif not isinstance(messages, list) or not all(isinstance(m, dict) for m in messages):
            self._error(400, "messages must be a list of objects")
        else:
            answer = stub.script(messages)
            self._answer(Reply(answer) if isinstance(answer, str) else answer, body)

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
        given = self.headers.get("Authorization", "").encode()
        if stub.api_key is None or hmac.compare_digest(given, f"Bearer {stub.api_key}".encode()):
            return True
        self._error(401, "Unauthorized")
        return False

    def _answer(self, answer: Reply | Fault, body: Json) -> None:
        if isinstance(answer, Reply):
            self._stream(answer, body) if body.get("stream") else self._whole(answer, body)
        elif answer.hang:
            self.server.stub.closing.wait(self.timeout)
            self.close_connection = True
        elif answer.status != 200:
            wait = answer.retry_after_s
            self._error(
                answer.status, answer.message, {} if wait is None else {"Retry-After": wait}
            )
        elif answer.malformed:
            kind = "text/event-stream" if body.get("stream") else "application/json"
            self._send(200, kind, b'data: {"choices": [{"delta"\n\n')
        else:
            self._cut(answer, body)

    def _whole(self, reply: Reply, body: Json) -> None:
        message = {"role": "assistant", "content": reply.text}
        if reply.reasoning:
            message["reasoning_content"] = reply.reasoning
        choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason}
        frame = {**_frame(body, "chat.completion"), "choices": [choice]}
        self._json(200, {**frame, "usage": _usage(body, reply)})

    def _stream(self, reply: Reply, body: Json) -> None:
        self._open_stream()
        for frame in _frames(reply, body):
            if reply.delay_s:
                time.sleep(reply.delay_s)
            self._event(json.dumps(frame, ensure_ascii=False))
        self._event("[DONE]")
        self._chunk(b"")

    def _cut(self, fault: Fault, body: Json) -> None:
        self._open_stream()
        for piece in _pieces(fault.text):
            self._event(json.dumps(_delta(body, {"content": piece}), ensure_ascii=False))
        if fault.cut == "quiet":
            self._chunk(b"")
        self.close_connection = True

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
            self.close_connection = True


def _frames(reply: Reply, body: Json) -> Iterator[Json]:
    yield _delta(body, {"role": "assistant", "content": ""})
    for piece in _pieces(reply.reasoning):
        yield _delta(body, {"reasoning_content": piece})
    for piece in _pieces(reply.text):
        yield _delta(body, {"content": piece})
    yield _delta(body, {}, reply.finish_reason)
    options = body.get("stream_options")
    if isinstance(options, dict) and options.get("include_usage"):
        yield {
            **_frame(body, "chat.completion.chunk"),
            "choices": [],
            "usage": _usage(body, reply),
        }


def _delta(body: Json, delta: Json, finish_reason: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {**_frame(body, "chat.completion.chunk"), "choices": [choice]}


def _frame(body: Json, kind: str) -> Json:
    return {"id": "chatcmpl-stub", "object": kind, "created": 0, "model": body["model"]}


def _usage(body: Json, reply: Reply) -> Json:
    """Count pieces as tokens: nobody's tokenizer, but the same for the same text."""
    prompt = sum(len(_pieces(str(message.get("content", "")))) for message in body["messages"])
    completion = len(_pieces(reply.reasoning)) + len(_pieces(reply.text))
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }


def _pieces(text: str) -> list[str]:
    """Split text into words with their spaces, and runs without spaces into fours, as tokens go."""
    return re.findall(r"\s*\S{1,4}|\s+$", text)
