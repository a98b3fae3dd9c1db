"""The embedder behind an OpenAI-compatible server: prefixes, tokens and the space of its vectors.

A server says nothing of a model's weights, so the space goes by the model's name there and is never
that of a local model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Final

from ragkit.embed.limits import check_length, choose_dimension
from ragkit.embed.models import model_card, readable_share
from ragkit.embed.tokens import TokenSpans, storable
from ragkit.errors import ModelError, ModelServerError
from ragkit.model.batching import BATCH, BATCH_CHARS, request_batches
from ragkit.model.choice import EMBEDDERS, RERANKERS
from ragkit.model.embedding_server import EmbeddingServer
from ragkit.model.quoting import quoted
from ragkit.model.served_tokens import ServedTokens, find_tokens, tokenizer_folder
from ragkit.model.server import Served
from ragkit.types import EmbeddingSpace

if TYPE_CHECKING:
    from ragkit.contracts import Vectors

REVISION: Final = "served"  # no local model's: those are hashes and commits
_EMBEDS: Final = re.compile(EMBEDDERS, re.IGNORECASE)
_RANKS: Final = re.compile(RERANKERS, re.IGNORECASE)


class ServedEmbedder:
    """Embed with the model `name` of a server; None: the first there that embeds.

    Tokens are counted with `tokenizer`, a folder or a hub name in the local cache; without one,
    with that of the model's name if it is here; else every byte counts as a token. `context_tokens`
    is what the model reads, special tokens included: what the server or the tokenizer's folder
    says unless given. `dimension` keeps the first so many of each vector, as `LocalEmbedder` does.
    """

    def __init__(
        self,
        server: EmbeddingServer,
        name: str | None = None,
        *,
        tokenizer: str | None = None,
        context_tokens: int | None = None,
        dimension: int | None = None,
    ) -> None:
        self._server = server
        self._name = name
        self._tokenizer = tokenizer
        self._context_tokens = context_tokens
        self._dimension = dimension
        self._loaded: _Loaded | None = None
        self._lock = Lock()

    @property
    def name(self) -> str:
        """Name the model at the server, which is asked once if no name was given."""
        if self._name is None:
            self._name = first_model(self._server)
        return self._name

    def load(self) -> None:
        """Ask the server for its limits and one vector; a second call does nothing.

        Raises ModelServerError, and ModelError where nobody says how much the model reads.
        """
        if self._loaded is not None:
            return
        # Asked without the lock: behind a server that hangs, callers would wait in a queue.
        loaded = self._ask()
        with self._lock:
            self._loaded = self._loaded or loaded

    @property
    def space(self) -> EmbeddingSpace:
        """Name the space of its vectors."""
        return self._ready.space

    @property
    def max_tokens(self) -> int:
        """Count the tokens of text that fit into one passage beside prefix and special tokens."""
        return self._ready.max_tokens

    @property
    def counting(self) -> str:
        """Say in words how tokens are counted."""
        return self._ready.tokens.how

    def token_spans(self, text: str) -> TokenSpans:
        """Split a text of any length into tokens; see `ragkit.embed.byte_tokens` without any."""
        return self._ready.tokens.spans(text)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed passages, shape (len(texts), dimension), in the given order.

        Raises ModelError for a text of more than `max_tokens` tokens, ModelServerError, and
        WorkCancelledError between two batches.
        """
        import numpy as np

        ready = self._ready
        prefix = ready.space.passage_prefix
        counts = ready.tokens.counts(prefix, texts)
        for text, count in zip(texts, counts, strict=True):
            ready.check(count, f"passage {text[:40]!r}")
        prefixed = [prefix + storable(text) for text in texts]
        vectors = np.empty((len(texts), ready.space.dimension), np.float32)
        for first, end in request_batches(prefixed, BATCH, BATCH_CHARS):
            vectors[first:end] = self._embed(prefixed[first:end], sum(counts[first:end]))
        return vectors

    def embed_query(self, text: str) -> Vectors:
        """Embed one query, shape (dimension,); a query over the limit is cut."""
        ready = self._ready
        prefix = ready.space.query_prefix
        query = ready.tokens.cut(prefix, storable(text))
        tokens = ready.tokens.counts(prefix, [query])[0]
        vector: Vectors = self._embed([prefix + query], tokens)[0]
        return vector

    def reads(self, text: str) -> float:
        """Estimate the share of a text's terms that the model can read; needs no `load`."""
        return readable_share(model_card(self.name), text)

    @property
    def _ready(self) -> _Loaded:
        if self._loaded is None:
            self.load()
        assert self._loaded is not None
        return self._loaded

    def _embed(self, texts: Sequence[str], tokens: int) -> Vectors:
        """Embed one batch, of so many tokens without the special ones."""
        import numpy as np

        ready = self._ready
        # Servers refuse a text of no characters.
        answer = self._server.embed(self.name, [text or " " for text in texts])
        vectors = answer.vectors
        if vectors.shape[1] != ready.available:
            raise self._server.error(
                f"gave vectors of {vectors.shape[1]} dimensions after {ready.available}: it has"
                f" another model by now under the name {self.name}"
            )
        # Some cut a text in silence. A length that was set is trusted.
        is_checked = self._context_tokens is None and ready.tokens.is_exact
        if is_checked and 0 < answer.tokens < tokens:
            raise self._server.error(
                f"read {answer.tokens} tokens of {tokens}: set RAGKIT_EMBED_CONTEXT_TOKENS to what"
                f" {self.name} reads there, and RAGKIT_EMBED_TOKENIZER to its tokenizer"
            )
        if ready.space.dimension == ready.available:
            return vectors
        first = vectors[:, : ready.space.dimension]
        lengths = np.linalg.norm(first, axis=1, keepdims=True)
        if not lengths.all():
            raise self._server.error(
                f"gave a vector whose first {ready.space.dimension} numbers are 0: set"
                " RAGKIT_EMBED_DIMENSION only for a Matryoshka model"
            )
        unit: Vectors = first / lengths
        return unit

    def _ask(self) -> _Loaded:
        name = self.name
        space = identify_served(name, self._tokenizer)
        tokens = self._tokens(name)
        available = self._server.embed(name, ["a"]).vectors.shape[1]
        dimension = choose_dimension(name, available, self._dimension)
        space = replace(space, dimension=dimension)
        loaded = _Loaded(space, available, tokens)
        if loaded.max_tokens < 1:
            raise ModelError(
                f"embedding model {name} reads {tokens.limit} tokens, which its prefix and special"
                " tokens fill: correct RAGKIT_EMBED_CONTEXT_TOKENS"
            )
        return loaded

    def _tokens(self, name: str) -> ServedTokens:
        stated = self._context_tokens
        models = self._listed() if stated is None else []
        limit = stated or self._served_limit(name, models)
        tokens = find_tokens(name, self._tokenizer, limit)
        if tokens is None:
            problem = f"does not say how many tokens {name} reads"
            names = [model.name for model in models]
            if names and name not in names:
                listed = quoted(", ".join(names))
                problem += f", and lists {listed}: set RAGKIT_EMBED_MODEL to one of them. Else"
            else:
                problem += ":"
            raise self._server.error(
                f"{problem} set RAGKIT_EMBED_CONTEXT_TOKENS to that number, or"
                " RAGKIT_EMBED_TOKENIZER to the model's folder"
            )
        return tokens if stated is None else replace(tokens, limit=stated)

    def _listed(self) -> Sequence[Served]:
        """List the server's models, none where it has no list."""
        try:
            return self._server.models()
        except ModelServerError:  # the first text says whether the server is up
            return []

    def _served_limit(self, name: str, models: Sequence[Served]) -> int | None:
        """Ask the server how many tokens the model reads; None where it does not say."""
        limits = [model.context_tokens for model in models if model.name == name]
        return next(filter(None, limits), None) or self._server.input_tokens()


@dataclass(frozen=True, slots=True)
class _Loaded:
    space: EmbeddingSpace
    available: int  # dimensions of the server's vectors
    tokens: ServedTokens

    @property
    def max_tokens(self) -> int:
        return self.tokens.room(self.space.passage_prefix)

    def check(self, count: int, name: str) -> None:
        """Raise ModelError for a text that is too long for the model."""
        tokens = count + self.tokens.special
        check_length(
            name, tokens, model=self.space.model, limit=self.tokens.limit, room=self.max_tokens
        )


def identify_served(name: str, tokenizer: str | None = None) -> EmbeddingSpace:
    """Tell the space of a server's model without asking the server; its dimension is 0.

    The prefixes are those of the model's card, else of the tokenizer's folder.
    """
    card = model_card(name, tokenizer_folder(name, tokenizer))
    return EmbeddingSpace(name, REVISION, 0, card.query_prefix, card.passage_prefix)


def first_model(server: EmbeddingServer) -> str:
    """Return the first of a server's models whose name says that it embeds, else the first.

    Raises ModelServerError where there is none.
    """
    names = [model.name for model in server.models()]
    names = [name for name in names if not _RANKS.search(name)]
    if not names:
        raise server.error("lists no model: load one, or name it in RAGKIT_EMBED_MODEL")
    return next(filter(_EMBEDS.search, names), names[0])
