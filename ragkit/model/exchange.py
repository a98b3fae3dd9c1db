"""One try at one server: a streamed chat completion as pieces.

What goes wrong is raised as it comes, for `ragkit.model.failures` to explain. It tries nothing
again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

from ragkit.errors import ModelServerError
from ragkit.model.failures import StreamFaultError
from ragkit.model.server import ModelServer
from ragkit.model.thinking import Thinking
from ragkit.model.wire import finish_reason, spoken, usage_of
from ragkit.types import Finish, Reasoning

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types.chat import ChatCompletionChunk

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
            usage = usage_of(chunk.usage) if chunk.usage else usage
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
) -> AsyncGenerator[ChatCompletionChunk, None]:
    """Yield the stream's chunks; a server that drips bytes is silent until a chunk is whole."""
    fields = {name: body[name] for name in ("model", "messages")}
    async with asyncio.timeout(server.timeout_s):
        stream = await client.chat.completions.create(
            **fields,
            stream=True,
            extra_headers={PREFIX_HEADER: prefix},
            extra_body={name: value for name, value in body.items() if name not in fields},
        )
    async with stream:
        while True:
            async with asyncio.timeout(server.timeout_s):
                chunk = await anext(stream, None)
            if chunk is None:
                return
            yield chunk
