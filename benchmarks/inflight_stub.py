"""A stub server in a process of its own: each answer takes the same time, and slots are watched."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from time import perf_counter
from urllib.request import urlopen

from aiohttp import web

LATENCY_S = 0.25
SLOTS = 64
FULL = 0.95  # of the slots


@dataclass
class Seen:
    """What the server saw since it was last asked: requests, seconds from the first request's
    beginning to the last answer's end, and for how many of these its slots were full."""

    requests: int = 0
    seconds: float = 0.0
    full_s: float = 0.0
    most: int = 0


class Watch:
    """Counts the requests under way, and how long there are how many."""

    def __init__(self) -> None:
        self.seen, self._running, self._first, self._last = Seen(), 0, 0.0, 0.0

    def step(self, by: int) -> None:
        now = perf_counter()
        if not self.seen.requests:
            self._first = now
        elif self._running >= FULL * SLOTS:
            self.seen.full_s += now - self._last
        self._running += by
        self._last = now
        self.seen.requests += by > 0
        self.seen.seconds = now - self._first
        self.seen.most = max(self.seen.most, self._running)

    def take(self) -> Seen:
        seen, self.seen = self.seen, Seen()
        return seen


def take(url: str) -> Seen:
    """Ask the server what it saw, and have it begin anew."""
    with urlopen(url.removesuffix("/v1") + "/seen", timeout=30) as reply:
        return Seen(**json.load(reply))


@contextmanager
def running() -> Iterator[str]:
    """Run the server; yield its address."""
    command = [sys.executable, "-m", "benchmarks.inflight_stub"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


async def serve() -> None:
    watch = Watch()
    answer = {"choices": [{"index": 0, "text": " A", "finish_reason": "length"}]}

    async def complete(request: web.Request) -> web.Response:
        await request.read()
        watch.step(1)
        await asyncio.sleep(LATENCY_S)
        watch.step(-1)
        return web.json_response(answer)

    async def models(request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "stub"}]})

    async def seen(request: web.Request) -> web.Response:
        return web.json_response(asdict(watch.take()))

    app = web.Application(client_max_size=1 << 24)
    app.router.add_post("/v1/completions", complete)
    app.router.add_get("/v1/models", models)
    app.router.add_get("/seen", seen)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}/v1", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve())
