"""A scripted OpenAI-style server, in a thread or as a program, with the faults real ones have.

As a program (`python -m tests.eval.endpoint.scripted`) it prints its address, and answers each
prompt with the letter that `letter_of` makes of it.
"""

import asyncio
import hashlib
import json
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web


@dataclass(frozen=True)
class Asked:
    """One request: its path and body, its number from 1, its headers."""

    path: str
    body: dict[str, Any]
    number: int
    headers: dict[str, str]


@dataclass(frozen=True)
class Reply:
    """What is sent for one request; a dict is sent as JSON. `drop` closes the connection."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    drop: bool = False


Script = Callable[[Asked], Reply]


def completion(text: str = "", **logprobs: Any) -> Reply:
    """A completion, with its "logprobs" where any are given."""
    choice = {"index": 0, "text": text, "finish_reason": "stop", "logprobs": logprobs or None}
    return Reply({"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 1}})


def letters(**logprobs: float) -> Reply:
    """A completion of one token with these candidates; an underscore stands for a space."""
    top = {token.replace("_", " "): value for token, value in logprobs.items()}
    return completion(max(top, key=lambda token: top[token]), top_logprobs=[top])


def chat(text: str | None, **fields: Any) -> Reply:
    """A chat completion; `more` goes into its choice."""
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop", **fields}
    return Reply({"choices": [choice]})


def error(status: int, message: str, **headers: str) -> Reply:
    """An error in OpenAI's form; an underscore in a header's name stands for a hyphen."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply({"error": {"message": message, "code": status}}, status, named)


def letter_of(prompt: str) -> str:
    """The letter that the program answers a prompt with."""
    return "ABCD"[hashlib.sha256(prompt.encode()).digest()[0] % 4]


def by_letter(request: Asked) -> Reply:
    letter = letter_of(request.body["prompt"])
    wrong = {f"_{label}": -3.0 for label in "ABCD" if label != letter}
    return letters(**{f"_{letter}": -0.1}, **wrong)


class ScriptedServer:
    """Serve a script on a loopback port from a thread.

    `asked` keeps the requests for completions, `running` and `most_running` count those under way,
    `left` those whose client went away before the answer.
    """

    def __init__(
        self,
        script: Script = by_letter,
        *,
        models: tuple[str, ...] = ("tiny",),
        at_root: dict[str, Callable[[dict[str, Any]], Reply]] | None = None,
        keep: bool = True,
    ) -> None:
        self.script = script
        self.models = models
        self.at_root = at_root or {}
        self.keep = keep
        self.asked: list[Asked] = []
        self.count = self.running = self.most_running = self.left = 0
        self.url = ""
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        runner = self._loop.run_until_complete(self._start())
        self._ready.set()
        self._loop.run_forever()
        self._loop.run_until_complete(runner.cleanup())
        self._loop.close()

    async def _start(self) -> web.AppRunner:
        app = web.Application(client_max_size=64 << 20)
        app.router.add_get("/v1/models", self._list)
        app.router.add_post("/v1/{path:.*}", self._answer)
        app.router.add_route("*", "/{path:.*}", self._at_root)
        runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{port}/v1"
        return runner

    async def _list(self, request: web.Request) -> web.StreamResponse:
        models = [{"id": name, "owned_by": "vllm", "max_model_len": 4096} for name in self.models]
        return web.json_response({"object": "list", "data": models})

    async def _at_root(self, request: web.Request) -> web.StreamResponse:
        reply = self.at_root.get(request.path)
        if reply is None:
            return web.json_response({"detail": "Not Found"}, status=404)
        return _response(reply(json.loads(await request.read() or b"{}")))

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.count += 1
        body = json.loads(await request.read())
        received = Asked(request.path, body, self.count, dict(request.headers))
        if self.keep:
            self.asked.append(received)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            reply = self.script(received)
            await asyncio.sleep(reply.delay_s)
        except asyncio.CancelledError:
            self.left += 1
            raise
        finally:
            self.running -= 1
        if reply.drop:
            assert request.transport is not None
            request.transport.close()
        return _response(reply)


def _response(reply: Reply) -> web.StreamResponse:
    if isinstance(reply.body, dict):
        return web.json_response(reply.body, status=reply.status, headers=reply.headers)
    return web.Response(text=reply.body or "", status=reply.status, headers=reply.headers)


def main() -> None:
    with ScriptedServer(keep=False) as server:
        print(server.url, flush=True)
        sys.stdin.read()  # until whoever started it is gone


if __name__ == "__main__":
    main()
