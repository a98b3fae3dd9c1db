"""A language model behind one or several OpenAI-compatible servers.

It speaks to them itself and not through LangChain's ChatOpenAI, which drops the reasoning that vLLM
sends beside the text.
"""

from __future__ import annotations

import asyncio
import time
import weakref
from collections.abc import AsyncGenerator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ragkit.model.bridge import Pieces, run
from ragkit.model.choice import default_model
from ragkit.model.exchange import exchange, open_session
from ragkit.model.failover import Failover, Tries, prefix_hash
from ragkit.model.failures import foreign_errors
from ragkit.model.limits import Piece, bounded
from ragkit.model.server import ModelServer, served
from ragkit.model.tokens import ASK_AGAIN_S, TokenCounter
from ragkit.model.wire import request_body
from ragkit.types import Decoding, Message

if TYPE_CHECKING:
    import aiohttp
    import openai


class ServedModel:
    """Continue chats with the model `name`, served at each of `urls` (their /v1 bases).

    Without a name it is the first model there, which the first use asks for; see `default_model`.
    `timeout_s` bounds every silence, `total_timeout_s` the whole answer with all its tries.
    """

    def __init__(
        self,
        urls: Sequence[str],
        name: str | None,
        *,
        api_key: str | None = None,
        decoding: Decoding | None = None,
        timeout_s: float = 60.0,
        total_timeout_s: float = 600.0,
        context_tokens: int | None = None,
        tokenizer: str | None = None,
        tries: Tries | None = None,
    ) -> None:
        self.servers = tuple(ModelServer(url, api_key, timeout_s) for url in urls)
        self._name = name
        self._decoding = decoding or Decoding()
        self._total_timeout_s = total_timeout_s
        self._failover = Failover(self.servers, tries or Tries())
        self._tokenizer = tokenizer
        self._context = context_tokens
        self._ask_after = 0.0
        self._opened: tuple[asyncio.AbstractEventLoop, aiohttp.ClientSession] | None = None
        self._clients: dict[ModelServer, tuple[asyncio.AbstractEventLoop, openai.AsyncOpenAI]] = {}

    @property
    def name(self) -> str:
        if self._name is None:
            self._name = default_model(self.servers)
        return self._name

    @cached_property
    def _tokens(self) -> TokenCounter:
        return TokenCounter(self.name, self._tokenizer, self.servers, self._client)

    @property
    def counting(self) -> str:
        """Say how `count_tokens` counts; known once it has counted something."""
        return self._tokens.how

    def load(self) -> None:
        """Load the clients and the tokenizer, if there is one; no server is asked.

        Raises ModelError when the tokenizer that the settings name is not there.
        """
        foreign_errors()  # of both clients
        if self._name is not None:
            self._tokens.load()

    def stream(
        self, messages: Sequence[Message], decoding: Decoding | None = None
    ) -> Pieces[Piece]:
        """Yield the answer as it comes; see `ragkit.contracts.LanguageModel`.

        `close` may be called from another thread. Raises SettingsError for a URL that is none.
        """
        for server in self.servers:
            server.check()
        name = self.name
        body = request_body(name, messages, decoding or self._decoding)
        prefix = prefix_hash(messages)
        answer = self._failover.answer(lambda at: self._exchange(at, body, prefix), prefix, name)
        return Pieces(bounded(answer, self._total_timeout_s, self._who()))

    def context_tokens(self) -> int | None:
        """Return the least context that a server says the model has, else its configuration's.

        The servers are asked until one has told, at most every `ASK_AGAIN_S`.
        """
        if self._context is None and time.monotonic() >= self._ask_after:
            self._ask_after = time.monotonic() + ASK_AGAIN_S
            name = self.name
            self._context = run(self._ask_context(name)) or self._tokens.configured_context()
        return self._context

    def count_tokens(self, texts: Sequence[str]) -> Sequence[int]:
        """Count tokens: see `ragkit.model.tokens.TokenCounter`."""
        return self._tokens.count(texts)

    async def _ask_context(self, name: str) -> int | None:
        limits = []
        for server in self.servers:
            try:
                models = await served(server)
            except foreign_errors():
                continue  # it may be one of those that the answer can do without
            limits += [m.context_tokens for m in models if m.name == name and m.context_tokens]
        return min(limits, default=None)

    def _who(self) -> str:
        addresses = ", ".join(server.shown for server in self.servers)
        return f"language-model server{'s' * (len(self.servers) > 1)} {addresses}"

    def _exchange(
        self, server: ModelServer, body: dict[str, Any], prefix: str
    ) -> AsyncGenerator[Piece, None]:
        return exchange(self._session(server.timeout_s), server, body, prefix)

    def _session(self, timeout_s: float) -> aiohttp.ClientSession:
        """Keep one session for all answers; it belongs to the loop that it is on."""
        loop = asyncio.get_running_loop()
        if self._opened is None or self._opened[0] is not loop:
            session = open_session(timeout_s)
            self._opened = (loop, session)
            weakref.finalize(self, _let_go, loop, session)
        return self._opened[1]

    def _client(self, server: ModelServer) -> openai.AsyncOpenAI:
        """Keep one client for each server that counts, on the loop that it is on."""
        loop = asyncio.get_running_loop()
        entry = self._clients.get(server)
        if entry is None or entry[0] is not loop:
            client = server.client()
            self._clients[server] = entry = (loop, client)
            weakref.finalize(self, _let_go, loop, client)
        return entry[1]


def _let_go(
    loop: asyncio.AbstractEventLoop, client: openai.AsyncOpenAI | aiohttp.ClientSession
) -> None:
    if loop.is_running():
        asyncio.run_coroutine_threadsafe(client.close(), loop)
