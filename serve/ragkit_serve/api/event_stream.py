"""Answers that take a while: given up when the client leaves, bounded when it reads slowly.

Server-sent events as the OpenAI wire format has them.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, aclosing
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from starlette.responses import Response

from ragkit.errors import RagkitError
from ragkit_serve.api.errors import ApiError, api_error, body

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from ragkit_serve.api.shutdown import Ending

T = TypeVar("T")
SLOWEST_READ_S: Final = 30.0  # arbitrary: how long a client may leave its buffer full
_SHUTTING_DOWN: Final = "the server is shutting down: the answer is incomplete, ask again"
CLIENT_GONE: Final = 499  # nginx's name for it; nobody sees it but the log
log = logging.getLogger("ragkit.serve")


class ClosableEvents(Protocol):
    """Events one after the other; whoever stops before the end closes them."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...
    async def aclose(self) -> None: ...


class ClientGoneError(Exception):
    """The client hung up before it was answered."""


async def while_connected(request: Request, work: Coroutine[Any, Any, T], *, ended: Ending) -> T:
    """Await something unless the client hangs up or the server's grace time ends first.

    Raises ClientGoneError, or ApiError 503.
    """
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_hung_up(request.receive))
    end = asyncio.ensure_future(ended.wait())
    try:
        await asyncio.wait({task, gone, end}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        if gone.done():
            raise ClientGoneError
        raise ApiError(503, _SHUTTING_DOWN, code="draining", retry_after_s=1)
    finally:
        for waiting in (task, gone, end):
            if not waiting.done():
                waiting.cancel()
                await asyncio.wait({waiting}, timeout=1.0)


class EventStream(Response):
    """Stream server-sent events; `held` is closed when the last was sent or the client left.

    An error that the events raise is sent as an event of its own, after which nothing comes, not
    even `[DONE]`. So is the end of the server's grace time, `ended`.
    """

    media_type = "text/event-stream"

    def __init__(self, events: ClosableEvents, *, held: AsyncExitStack, ended: Ending) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._events = events
        self._held = held
        self._ended = ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        tasks = {
            asyncio.ensure_future(self._stream(send)): "sent",
            asyncio.ensure_future(_hung_up(receive)): "gone",
            asyncio.ensure_future(self._ended.wait()): "ended",
        }
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            first = {tasks[task] for task in done}
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=2.0)
            await self._held.aclose()
        if "sent" in first:
            next(task for task, name in tasks.items() if name == "sent").result()
        elif "gone" not in first:
            await self._last(send, _shutting_down())

    async def _stream(self, send: Send) -> None:
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        )
        try:
            async with aclosing(self._events) as events:
                async for event in events:
                    async with asyncio.timeout(SLOWEST_READ_S):
                        await send({"type": "http.response.body", "body": event, "more_body": True})
        except RagkitError as error:
            await self._last(send, event_of(_as_body(api_error(error))))
        except TimeoutError:
            log.info("a stream was ended: its client read too slowly")
            raise ClientGoneError from None
        else:
            await self._last(send, b"")

    async def _last(self, send: Send, event: bytes) -> None:
        async with asyncio.timeout(SLOWEST_READ_S):
            await send({"type": "http.response.body", "body": event, "more_body": False})


def event_of(value: object) -> bytes:
    """Write one event."""
    return (
        b"data: "
        + json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        + b"\n\n"
    )


DONE: Final = b"data: [DONE]\n\n"


def _as_body(error: ApiError) -> dict[str, Any]:
    return body(error.status, str(error), code=error.code, param=error.param)


def _shutting_down() -> bytes:
    return event_of(body(503, _SHUTTING_DOWN, code="draining"))


async def _hung_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
