"""One try at one server: a streamed chat completion as pieces.

What goes wrong is raised as it comes, for `ragkit.model.failures` to explain. It tries nothing
again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from ragkit.errors import ModelServerError
from ragkit.model.events import DONE, EventCutter, data_of
from ragkit.model.failures import AnswerStatusError, StreamFaultError, quoted_words
from ragkit.model.server import CONNECT_TIMEOUT_S, NO_KEY, ModelServer
from ragkit.model.thinking import Thinking
from ragkit.model.wire import finish_reason, spoken, usage_of
from ragkit.types import Finish, Reasoning

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

MAX_ANSWER_CHARS = 1_000_000  # arbitrary; far more than max_tokens allows an honest server
MAX_ERROR_BYTES: Final = 1 << 20  # arbitrary; of an error's text a line is shown
OK: Final = 200
IDLE_S: Final = 4.0  # of a connection that is kept; vLLM closes it after 5
PREFIX_HEADER: Final = "X-Prompt-Prefix"
_NO_END: Final = frozenset({"", "abort", "error"})  # the latter are what vLLM says of its own doing


def open_session(timeout_s: float) -> ClientSession:
    """Open what keeps connections to servers, on the running event loop, to be closed by `close`.

    aiohttp and not the openai client: an answer of 65 pieces takes 1 ms of the processor so, and 5
    ms by that one, even where it makes no objects of the pieces.
    """
    import aiohttp

    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_S),
        # Each silence is bounded where the answer is read.
        timeout=aiohttp.ClientTimeout(sock_connect=min(timeout_s, CONNECT_TIMEOUT_S)),
        cookie_jar=aiohttp.DummyCookieJar(),
    )


async def exchange(
    session: ClientSession, server: ModelServer, body: dict[str, Any], prefix: str
) -> AsyncGenerator[str | Reasoning | Finish, None]:
    """Yield a server's answer; closing it closes the connection."""
    thinking, reason, usage, received = Thinking(), "", None, 0
    async with aclosing(_chunks(session, server, body, prefix)) as chunks:
        async for chunk in chunks:
            reason = finish_reason(chunk) or reason
            usage = usage_of(chunk["usage"]) if chunk.get("usage") else usage
            for piece in spoken(chunk):
                received += len(piece.text if isinstance(piece, Reasoning) else piece)
                for part in thinking.feed(piece):
                    yield part
            if received > MAX_ANSWER_CHARS:
                raise StreamFaultError(
                    f"ignores max_tokens: its answer runs past {MAX_ANSWER_CHARS} characters; stop"
                    " it and see its log",
                    is_transient=False,
                )
    if reason in _NO_END:
        raise StreamFaultError(
            "stopped in the middle of its answer: see its log, then ask again", is_transient=True
        )
    for part in thinking.end():
        yield part
    if thinking.stray:
        raise ModelServerError(
            f"language-model server {server.shown} mixes the thinking of model {body['model']!r}"
            " into its answer: start it with the model's reasoning parser (vLLM:"
            " --reasoning-parser)"
        )
    yield Finish(reason, usage)


async def _chunks(
    session: ClientSession, server: ModelServer, body: dict[str, Any], prefix: str
) -> AsyncGenerator[dict[str, Any], None]:
    """Yield the stream's chunks; a server that drips bytes is silent until a chunk is whole."""
    loop, cutter = asyncio.get_running_loop(), EventCutter()
    until = loop.time() + server.timeout_s
    async with AsyncExitStack() as opened:
        async with asyncio.timeout_at(until):
            response = await opened.enter_async_context(_post(session, server, body, prefix))
            if response.status != OK:
                raise AnswerStatusError(response.status, response.headers, await _error(response))
        while True:
            async with asyncio.timeout_at(until):
                piece = await response.content.readany()
            for event in cutter.take(piece):
                until = loop.time() + server.timeout_s
                data = data_of(event)
                if data.startswith(DONE):
                    return
                if data:
                    yield _chunk(data, server)
            if not piece:
                return


def _post(
    session: ClientSession, server: ModelServer, body: dict[str, Any], prefix: str
) -> AbstractAsyncContextManager[ClientResponse]:
    """Ask for the answer; an answer that is left before its end has its connection closed."""
    parts = urlsplit(server.url)
    url = urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/chat/completions"))
    headers = {"content-type": "application/json", PREFIX_HEADER: prefix}
    if "@" not in parts.netloc:  # a user's name and password in a URL are sent instead
        headers["authorization"] = f"Bearer {server.api_key or NO_KEY}"
    return session.post(url, data=json.dumps(body).encode(), headers=headers, proxy=_proxy(parts))


def _proxy(url: SplitResult) -> str | None:
    """Return the proxy that the environment names for a server; aiohttp would read .netrc too."""
    return None if proxy_bypass(url.hostname or "") else getproxies().get(url.scheme)


async def _error(response: ClientResponse) -> object:
    """Return the error that an answer tells of, as OpenAI's client does: its body's, or all."""
    text = await response.content.read(MAX_ERROR_BYTES)
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return body.get("error", body) if isinstance(body, dict) else body


def _chunk(data: bytes, server: ModelServer) -> dict[str, Any]:
    """Read a chunk. Raises ValueError, and StreamFaultError for one that tells of an error."""
    chunk = json.loads(data)
    if not isinstance(chunk, dict):
        raise TypeError(f"a chunk is {type(chunk).__name__}")
    if error := chunk.get("error"):
        words = quoted_words(error, server)
        raise StreamFaultError(
            f"broke its answer off with an error{words}: see its log", is_transient=True
        )
    return chunk
