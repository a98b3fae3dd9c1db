"""The served model's own API, asked as it is: bytes through, several servers in turn.

What has not begun may move on to another server; what has begun never does. It knows nothing of
who asks.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import httpcore
import httpx

from ragkit.errors import IncompleteAnswerError, ModelServerError
from ragkit.model.exchange import PREFIX_HEADER
from ragkit.model.failover import Failover, Tries, prefix_hash
from ragkit.model.failures import Failure, retry_after_s
from ragkit.model.server import CONNECT_TIMEOUT_S, NO_KEY, ModelServer
from ragkit.settings import Settings
from ragkit.types import Message
from ragkit_serve.api.errors import ApiError

_OF_THE_REQUEST: Final = frozenset({400, 404, 413, 422})  # passed on as they are
_BROKEN: Final = (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError)
MAX_EVENT_BYTES: Final = 4 << 20  # arbitrary; an event is a few hundred bytes
_DONE: Final = b"data: [DONE]"


@dataclass(frozen=True, slots=True)
class Whole:
    """An answer that is not streamed: status and JSON, as the server gave them."""

    status: int
    content: bytes


class Upstream:
    """Several servers of one model; belongs to the event loop it is used on."""

    def __init__(self, settings: Settings, model: str) -> None:
        key = settings.llm_api_key
        secret = key.get_secret_value() if key is not None else None
        urls = (settings.llm_url or "").split()
        self.model = model
        self._servers = tuple(ModelServer(url, secret, settings.llm_timeout_s) for url in urls)
        self._total_timeout_s = settings.llm_total_timeout_s
        self._failover = Failover(self._servers, model, Tries())
        # httpx' own layers would take more than half of what is added to the server's time.
        self._http = httpcore.AsyncConnectionPool(
            ssl_context=httpx.create_ssl_context(trust_env=False),
            max_connections=None,
            max_keepalive_connections=64,
            keepalive_expiry=5.0,
        )
        wait_s = settings.llm_timeout_s
        connect_s = min(wait_s, CONNECT_TIMEOUT_S)
        self._timeouts = {"connect": connect_s, "read": wait_s, "write": wait_s, "pool": connect_s}

    async def ask(self, body: dict[str, Any]) -> Whole | AsyncGenerator[bytes, None]:
        """Return the whole answer, or the stream's events as they come, each whole.

        Raises ModelServerError when no server answers; the stream raises IncompleteAnswerError.
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
        raise _all_failed(failures)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _try(
        self, server: ModelServer, body: dict[str, Any], prefix: str
    ) -> Whole | AsyncGenerator[bytes, None] | Failure:
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        url = urlsplit(server.url)
        headers = {
            "host": url.netloc.rpartition("@")[2],
            "content-type": "application/json",
            "content-length": str(len(content)),
            "authorization": f"Bearer {server.api_key or NO_KEY}",
            PREFIX_HEADER: prefix,
        }
        request = httpcore.Request(
            "POST",
            f"{server.url.rstrip('/')}/chat/completions",
            headers=[(name.encode(), value.encode()) for name, value in headers.items()],
            content=content,
            extensions={"timeout": self._timeouts},
        )
        try:
            async with asyncio.timeout(self._total_timeout_s):
                response = await self._http.handle_async_request(request)
        except (*_BROKEN, TimeoutError) as error:
            return Failure(server, f"cannot be asked ({type(error).__name__}): check that it runs")
        if response.status == 200 and body.get("stream"):
            return await self._begun(server, response)
        try:
            async with asyncio.timeout(self._total_timeout_s):
                content = await response.aread()
        except (*_BROKEN, TimeoutError) as error:
            return Failure(server, f"broke its answer off ({type(error).__name__}): see its log")
        finally:
            await response.aclose()
        return _read(server, response, content)

    async def _begun(
        self, server: ModelServer, response: httpcore.Response
    ) -> AsyncGenerator[bytes, None] | Failure:
        """Wait for the first event: until then another server may be asked."""
        events = _events(response, self._total_timeout_s)
        try:
            first = await anext(events)
        except (*_BROKEN, TimeoutError, StopAsyncIteration, ValueError) as error:
            await events.aclose()
            kind = type(error).__name__
            return Failure(server, f"broke its answer off ({kind}): see its log")
        except BaseException:
            await events.aclose()
            raise
        return _checked(server, first, events)


async def _checked(
    server: ModelServer, first: bytes, events: AsyncGenerator[bytes, None]
) -> AsyncGenerator[bytes, None]:
    """Pass events on up to `[DONE]`; a stream that ends without one is incomplete."""
    said = f"language-model server {server.shown} stopped in the middle of its answer: ask again"
    try:
        event: bytes | None = first
        while event is not None:
            yield event
            if event.startswith(_DONE):
                return
            event = await anext(events, None)
        raise IncompleteAnswerError(said, "")
    except (*_BROKEN, TimeoutError, ValueError) as error:
        raise IncompleteAnswerError(said, "") from error
    finally:
        await events.aclose()


async def _events(
    response: httpcore.Response, total_timeout_s: float
) -> AsyncGenerator[bytes, None]:
    """Cut a stream of bytes into events, wherever its pieces were cut. Raises ValueError."""
    left = b""
    try:
        async with asyncio.timeout(total_timeout_s):
            async for piece in response.aiter_stream():
                left += piece.replace(b"\r", b"")
                *whole, left = left.split(b"\n\n")
                for event in whole:
                    if event.strip():
                        yield event + b"\n\n"
                if len(left) > MAX_EVENT_BYTES:
                    raise ValueError("an event without an end")
    finally:
        await response.aclose()


def _read(server: ModelServer, response: httpcore.Response, content: bytes) -> Whole | Failure:
    status = response.status
    if status == 200 or status in _OF_THE_REQUEST:
        try:
            json.loads(content)
        except ValueError:
            return Failure(server, f"gave no proper OpenAI-style answer ({status}): see its log")
        return Whole(status, content)
    given = dict(response.headers).get(b"retry-after", b"").decode("latin-1")
    wait_s = retry_after_s(given)
    if status in {429, 503}:
        return Failure(server, f"takes no more requests now ({status})", again=True, wait_s=wait_s)
    return Failure(server, f"failed ({status}): see its log, or try again later")


def _all_failed(failures: Sequence[Failure]) -> Exception:
    said = "; ".join(str(failure) for failure in failures)
    if failures and all(failure.again for failure in failures):
        wait_s = max(1, round(min(failure.wait_s for failure in failures)))
        return ApiError(503, said, code="model_server_full", retry_after_s=wait_s)
    return ModelServerError(said)


def _messages(body: dict[str, Any]) -> list[Message]:
    """Return what a prompt begins with, as far as servers are chosen by it."""
    return [
        Message("system" if m.get("role") == "system" else "user", str(m.get("content", "")))
        for m in body.get("messages", ())
        if isinstance(m, dict)
    ]
