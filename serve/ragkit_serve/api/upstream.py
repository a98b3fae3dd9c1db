"""Requests passed through to the served model's API, bytes unchanged, with failover.

A request moves to another server until its answer has begun, never later.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, Final, Self
from urllib.parse import urlsplit, urlunsplit

import aiohttp

from ragkit.errors import IncompleteAnswerError
from ragkit.model.events import DONE, data_of, read_events
from ragkit.model.exchange import PREFIX_HEADER
from ragkit.model.failover import Failover, Tries, prefix_hash
from ragkit.model.failures import Failure, failed, retry_after_s
from ragkit.model.open import servers_of
from ragkit.model.server import CONNECT_TIMEOUT_S, NO_KEY, ModelServer
from ragkit.model.statuses import status_meaning
from ragkit.settings.settings import Settings
from ragkit.types import Message

_BROKEN: Final = (aiohttp.ClientError, TimeoutError)
IDLE_S: Final = 5.0  # arbitrary: how long a connection waits for another request; vLLM's own is 5
MAX_QUOTED_CHARS: Final = 200  # of a server's words, in the log

_Event = tuple[bytes, bool]  # as it came, and whether it is `[DONE]`


@dataclass(frozen=True, slots=True)
class Whole:
    """An answer that is not streamed: status and JSON, as the server gave them."""

    status: int
    content: bytes


class Events:
    """The events of a stream that has begun, each whole, up to `[DONE]`; to be closed by `aclose`.

    Raises IncompleteAnswerError where the stream breaks off, or ends without `[DONE]`.
    """

    def __init__(
        self, server: ModelServer, first: _Event, remainder: AsyncGenerator[_Event, None]
    ) -> None:
        self._server = server
        self._first: _Event | None = first
        self._remainder = remainder
        self._complete = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if self._complete:
            raise StopAsyncIteration
        first, self._first = self._first, None
        event, self._complete = first or await self._next()
        return event

    async def aclose(self) -> None:
        """Hang up, unless the answer was read to its end."""
        await self._remainder.aclose()

    async def _next(self) -> _Event:
        try:
            return await anext(self._remainder)
        except (*_BROKEN, ValueError, StopAsyncIteration) as error:
            raise IncompleteAnswerError(
                f"language-model server {self._server.shown} stopped in the middle of its answer"
                f" ({_reason(error)}): ask again",
                "",
            ) from error


class Upstream:
    """Several servers of one model; belongs to the event loop it is used on."""

    def __init__(self, settings: Settings) -> None:
        self._failover = Failover(servers_of(settings), Tries())
        self._timeout = aiohttp.ClientTimeout(
            total=settings.llm_total_timeout_s,
            sock_connect=min(settings.llm_timeout_s, CONNECT_TIMEOUT_S),
            sock_read=settings.llm_timeout_s,
        )
        self._http: aiohttp.ClientSession | None = None  # made on the event loop

    async def ask(self, body: dict[str, Any]) -> Whole | Events:
        """Return the whole answer, or the stream's events as they come.

        Raises ModelServerError when no server answers, ModelServerBusyError when one was busy.
        """
        failures: list[Failure] = []
        prefix = prefix_hash(_messages(body))
        for server in self._failover.order(prefix):
            answer = await self._try(server, body, prefix)
            if not isinstance(answer, Failure):
                self._failover.worked(server)
                return answer
            self._failover.failed(answer)
            failures.append(answer)
        raise failed(failures, "; ".join(map(str, failures)))

    async def close(self) -> None:
        """Close the connections."""
        if self._http is not None:
            await self._http.close()

    @property
    def _session(self) -> aiohttp.ClientSession:
        if self._http is None:
            # httpx, cancelled at the wrong moment, would leave connections behind for good.
            self._http = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_S),
                timeout=self._timeout,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
            )
        return self._http

    async def _try(
        self, server: ModelServer, body: dict[str, Any], prefix: str
    ) -> Whole | Events | Failure:
        try:
            response = await self._session.post(
                _address(server),
                data=json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"),
                headers={
                    "content-type": "application/json",
                    "accept-encoding": "identity",
                    "authorization": f"Bearer {server.api_key or NO_KEY}",
                    PREFIX_HEADER: prefix,
                },
                allow_redirects=False,
            )
        except _BROKEN as error:
            return Failure(server, f"cannot be asked ({type(error).__name__}): check that it runs")
        if response.status == 200 and body.get("stream"):
            return await _begun(server, response)
        try:
            content = await response.read()
        except _BROKEN as error:
            return Failure(server, f"broke its answer off ({type(error).__name__}): see its log")
        finally:
            response.release()
        return _read(server, response, content)


def _address(server: ModelServer) -> str:
    """Return where chat completions are asked for; a user's name in a URL is not for the header."""
    parts = urlsplit(server.url)
    path = f"{parts.path.rstrip('/')}/chat/completions"
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], path, parts.query, ""))


async def _begun(server: ModelServer, response: aiohttp.ClientResponse) -> Events | Failure:
    """Wait for the first event: until then another server may be asked."""
    events = _events(response)
    try:
        return Events(server, await anext(events), events)
    except (*_BROKEN, StopAsyncIteration, ValueError) as error:
        return Failure(server, f"broke its answer off ({_reason(error)}): see its log")


async def _events(response: aiohttp.ClientResponse) -> AsyncGenerator[_Event, None]:
    """Yield the events of an answer, unchanged. Raises ValueError."""
    try:
        async for event in read_events(response.content.iter_any()):
            data = data_of(event)
            is_last = data.startswith(DONE)
            if data and not is_last:
                _check(data)
            yield event + b"\n\n", is_last
    finally:
        response.release()  # closes the connection where there is more to come


def _check(data: bytes) -> None:
    """Raise ValueError for an event that is no JSON, or in which the server says that it failed."""
    try:
        chunk = json.loads(data)
    except ValueError as error:
        raise ValueError("an event that is no JSON") from error
    if not isinstance(chunk, dict):
        raise ValueError("an event that is no object")
    if chunk.get("error"):
        words = "".join(c if c.isprintable() else " " for c in str(chunk["error"]))
        raise ValueError(f"an error event: {words[:MAX_QUOTED_CHARS]}")


def _reason(error: BaseException) -> str:
    """Say what broke an answer off; the client's own errors have no words that help."""
    return str(error) if isinstance(error, ValueError) else type(error).__name__


def _read(server: ModelServer, response: aiohttp.ClientResponse, content: bytes) -> Whole | Failure:
    status = response.status
    meaning = status_meaning(status)
    if status == 200 or meaning == "rejected":  # the request's own fault: passed on unchanged
        try:
            json.loads(content)
        except ValueError:
            return Failure(server, f"gave no proper OpenAI-style answer ({status}): see its log")
        return Whole(status, content)
    wait_s = retry_after_s(response.headers.get("retry-after", ""))
    is_busy = meaning == "busy"
    words = "takes no more requests now" if is_busy else "failed"
    problem = f"{words} ({status}): see its log, or try again later"
    return Failure(server, problem, is_busy, wait_s=wait_s, status=status)


def _messages(body: dict[str, Any]) -> list[Message]:
    """Return what a prompt begins with, as far as servers are chosen by it."""
    return [
        Message("system" if m.get("role") == "system" else "user", str(m.get("content", "")))
        for m in body.get("messages", ())
        if isinstance(m, dict)
    ]
