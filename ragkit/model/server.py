"""A language-model server as an address, and what it says of itself."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ragkit.errors import SettingsError

if TYPE_CHECKING:
    import openai

NO_KEY = "EMPTY"  # what vLLM's own examples send to a server without a key
CONNECT_TIMEOUT_S = 5.0  # arbitrary; a server on the same network answers in milliseconds
PROBE_TIMEOUT_S = 10.0  # arbitrary; to list its models is no work for a server


@dataclass(frozen=True, slots=True)
class ModelServer:
    """Where a language-model server is, and how to speak to it; `url` ends in /v1.

    `timeout_s` bounds each silence.
    """

    url: str
    api_key: str | None = field(default=None, repr=False)
    timeout_s: float = 60.0

    def check(self) -> None:
        """Raise SettingsError for a URL that no request can be sent to."""
        try:
            parts = urlsplit(self.url)
            sound = parts.scheme in {"http", "https"} and bool(parts.hostname)
            sound = sound and parts.port != 0 and not re.search(r"[\s\\]", self.url)
        except ValueError:
            sound = False
        if not sound:
            raise SettingsError(
                f"language-model URL {self.shown!r} is not one: RAGKIT_LLM_URL must look like"
                " http://127.0.0.1:8000/v1"
            )

    @property
    def shown(self) -> str:
        """The URL without user, password and query, fit for messages."""
        from ragkit.settings.secrets import masked

        return masked("llm_url", self.url)

    def client(self) -> openai.AsyncOpenAI:
        """Make a client that tries each request once. Raises SettingsError."""
        import openai

        self.check()
        limits = openai.Timeout(self.timeout_s, connect=min(self.timeout_s, CONNECT_TIMEOUT_S))
        return openai.AsyncOpenAI(
            base_url=self.url, api_key=self.api_key or NO_KEY, timeout=limits, max_retries=0
        )


@dataclass(frozen=True, slots=True)
class Served:
    """A model that a server offers; `context_tokens` is None where the server does not tell."""

    name: str
    context_tokens: int | None = None


async def served(server: ModelServer) -> Sequence[Served]:
    """List the models that a server serves. Raises TimeoutError and what the client raises."""
    async with asyncio.timeout(min(server.timeout_s, PROBE_TIMEOUT_S)), server.client() as client:
        return [
            Served(str(model.id), positive_count((model.model_extra or {}).get("max_model_len")))
            # Ollama without a model sends null.
            for model in (await client.models.list()).data or ()
        ]


def positive_count(value: object) -> int | None:
    """Return a number of tokens that a server states; None for anything else."""
    return value if type(value) is int and value > 0 else None
