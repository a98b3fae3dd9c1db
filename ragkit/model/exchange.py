"""One try at one server: a streamed chat completion as pieces.

What goes wrong is raised as it comes, for `ragkit.model.failures` to explain. It tries nothing
again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from typing import TYPE_CHECKING, Any, Final

from ragkit.errors import ModelServerError
from ragkit.model.events import DONE, data_of, read_events
from ragkit.model.failures import StreamFaultError
from ragkit.model.server import ModelServer
from ragkit.model.thinking import Thinking
from ragkit.model.wire import finish_reason, spoken, usage_of
from ragkit.types import Finish, Reasoning

if TYPE_CHECKING:
    from openai import AsyncAPIResponse, AsyncOpenAI

MAX_ANSWER_CHARS = 1_000_000  # arbitrary; far more than max_tokens allows an honest server
PREFIX_HEADER: Final = "X-Prompt-Prefix"
_NO_END: Final = frozenset({"", "abort", "error"})  # the latter are what vLLM says of its own doing


async def exchange(
    client: AsyncOpenAI, server: ModelServer, body: dict[str, Any], prefix: str
) -> AsyncGenerator[str | Reasoning | Finish, None]:
    """Yield a server's answer; closing it closes the connection."""
    thinking, reason, usage, received = Thinking(), "", None, 0
    async with aclosing(_chunks(client, server, body, prefix)) as chunks:
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
    client: AsyncOpenAI, server: ModelServer, body: dict[str, Any], prefix: str
) -> AsyncGenerator[dict[str, Any], None]:
    """Yield the stream's chunks; a server that drips bytes is silent until a chunk is whole.

    They are read here: an answer of 65 pieces takes 12 ms of the processor so, and 25 ms with the
    objects that the client makes of them.
    """
    fields = {name: body[name] for name in ("model", "messages")}
    request = client.chat.completions.with_streaming_response.create(
        **fields,
        stream=True,
        extra_headers={PREFIX_HEADER: prefix},
        extra_body={name: value for name, value in body.items() if name not in fields},
    )
    async with AsyncExitStack() as opened:
        async with asyncio.timeout(server.timeout_s):
            response = await opened.enter_async_context(request)
        pieces = await opened.enter_async_context(aclosing(_bytes(response)))
        events = await opened.enter_async_context(aclosing(read_events(pieces)))
        while True:
            async with asyncio.timeout(server.timeout_s):
                event = await anext(events, None)
            data = DONE if event is None else data_of(event)
            if data.startswith(DONE):
                return
            if data:
                yield _chunk(data, response.http_request)


async def _bytes(response: AsyncAPIResponse[Any]) -> AsyncGenerator[bytes, None]:
    """Yield an answer's bytes. Raises the client's own error where its connection breaks."""
    import httpx2
    from openai import APIConnectionError, APITimeoutError

    try:
        async for piece in response.iter_bytes():
            yield piece
    except httpx2.TimeoutException as error:
        raise APITimeoutError(request=response.http_request) from error
    except httpx2.RequestError as error:
        raise APIConnectionError(request=response.http_request) from error


def _chunk(data: bytes, request: Any) -> dict[str, Any]:
    """Read a chunk. Raises ValueError, and the client's error for one that tells of an error."""
    chunk = json.loads(data)
    if not isinstance(chunk, dict):
        raise TypeError(f"a chunk is {type(chunk).__name__}")
    if error := chunk.get("error"):
        from openai import APIError

        raise APIError("error in the stream", request, body=error)
    return chunk
