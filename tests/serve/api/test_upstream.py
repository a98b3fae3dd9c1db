"""Requests passed on to the served model, given up at any moment."""

from __future__ import annotations

import asyncio
import os
import random

import pytest

from ragkit.settings.settings import Settings
from ragkit.testing.stub_server.server import Reply, StubServer
from ragkit_serve.api.upstream import Upstream, Whole

CLIENTS = 8
REQUESTS = 150  # of each client
ASKED = [{"role": "user", "content": "How many days of leave are there?"}]


def _sockets() -> int:
    """Count this process's open sockets."""
    count = 0
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            count += os.readlink(f"/proc/self/fd/{descriptor}").startswith("socket:")
        except FileNotFoundError:  # the one that the listing itself had open
            continue
    return count


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
def test_giving_up_at_any_moment_leaves_no_connection_behind(streamed: bool) -> None:
    dice = random.Random(7)

    async def ask(upstream: Upstream) -> None:
        body = {"model": "stub", "messages": ASKED, "stream": streamed}
        answer = await upstream.ask(body)
        if isinstance(answer, Whole):
            return
        try:
            async for _ in answer:
                pass
        finally:
            await answer.aclose()

    async def client(upstream: Upstream) -> None:
        for _ in range(REQUESTS):
            task = asyncio.ensure_future(ask(upstream))
            await asyncio.wait({task}, timeout=dice.random() * 0.02)
            task.cancel()
            await asyncio.wait({task})

    async def every(url: str) -> int:
        upstream = Upstream(Settings(llm_url=url, llm_model="stub"))
        try:
            await asyncio.gather(*(client(upstream) for _ in range(CLIENTS)))
            before = _sockets()
            # One that is let finish takes a kept connection, or finds that there is none.
            await asyncio.gather(*(ask(upstream) for _ in range(CLIENTS)))
            return max(before, _sockets())
        finally:
            await upstream.close()

    replies = [Reply("days " * pieces, delay_s=wait) for pieces in (1, 8) for wait in (0, 0.001)]
    with StubServer(lambda messages: dice.choice(replies)) as stub:
        idle = _sockets()
        held = asyncio.run(every(stub.url))
    # Both ends of each connection are in this process; the loop has two sockets of its own.
    assert held - idle <= 2 + 2 * CLIENTS
