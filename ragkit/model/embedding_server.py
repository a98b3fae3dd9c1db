"""An OpenAI-compatible server of embeddings over HTTP: its models, its limits, its vectors.

It knows nothing of tokens, prefixes or spaces, which `ragkit.model.served_embedder` has.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from ragkit.errors import ModelServerError
from ragkit.model.embedding_answer import (
    MAX_DIMENSION,
    NUMBER_BYTES,
    Embeddings,
    read_embeddings,
)
from ragkit.model.failover import Tries
from ragkit.model.http_client import TIMEOUT_S, HttpClient, ServerNames
from ragkit.model.server import Served, positive_count
from ragkit.settings.secrets import masked

if TYPE_CHECKING:
    import httpx

_LIST_BYTES: Final = 4_000_000  # of an answer that is no embeddings; arbitrary, /v1/models is short
_NAMES: Final = ServerNames(
    server="embedding server",
    url_setting="RAGKIT_EMBED_URL",
    key_setting="RAGKIT_EMBED_API_KEY",
    address="the base of an OpenAI-style API, usually ending in /v1",
    not_found="has no such path or model",
    found_by=(
        "RAGKIT_EMBED_URL must be the API's base, usually ending in /v1, and RAGKIT_EMBED_MODEL a"
        " model there"
    ),
    rejected=(
        "see its log; where a text is too long for it, set RAGKIT_EMBED_CONTEXT_TOKENS to what it"
        " reads"
    ),
)


class EmbeddingServer:
    """Ask a server for embeddings; `url` is the API's base, usually ending in /v1.

    A request is bounded and tried again as `ragkit.model.http_client` says.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        timeout_s: float = TIMEOUT_S,
        tries: Tries | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.url = url.rstrip("/").removesuffix("/embeddings")
        self._client = HttpClient(
            _NAMES, masked("embed_url", self.url), api_key=api_key, timeout_s=timeout_s,
            tries=tries, transport=transport,
        )  # fmt: skip

    def models(self) -> Sequence[Served]:
        """List the server's models. Raises ModelServerError."""
        value = self._object(self._client.get(f"{self.url}/models", _LIST_BYTES))
        rows = value.get("data")
        named = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
        return [
            Served(row["id"], positive_count(row.get("max_model_len")))
            for row in named
            if isinstance(row.get("id"), str) and row["id"]
        ]

    def input_tokens(self) -> int | None:
        """Return how many tokens text-embeddings-inference says that its model reads, or None."""
        root = self.url.removesuffix("/v1")
        try:
            value = self._object(self._client.get(f"{root}/info", _LIST_BYTES))
        except ModelServerError:
            return None
        return positive_count(value.get("max_input_length"))

    def embed(self, model: str, texts: Sequence[str]) -> Embeddings:
        """Embed texts, in their order. Raises ModelServerError, ModelServerBusyError."""
        content = json.dumps(
            {"model": model, "input": list(texts), "encoding_format": "float"}
        ).encode()
        limit = _LIST_BYTES + len(texts) * MAX_DIMENSION * NUMBER_BYTES
        answer = self._client.post(f"{self.url}/embeddings", content, limit)
        try:
            return read_embeddings(answer, len(texts))
        except (ValueError, RecursionError) as error:
            raise self._client.improper(str(error)) from error

    def error(self, problem: str) -> ModelServerError:
        """Return an error that names the server."""
        return self._client.error(problem)

    def _object(self, answer: bytes) -> dict[str, Any]:
        try:
            value = json.loads(answer)
        except (ValueError, RecursionError) as error:
            raise self._client.improper(str(error)) from error
        if not isinstance(value, dict):
            raise self._client.improper("it is no object")
        return value
