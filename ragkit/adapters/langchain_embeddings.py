"""Embedding models of LangChain as ragkit's, and ragkit's as LangChain's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from langchain_core.embeddings import Embeddings

from ragkit.errors import ModelError
from ragkit.types import EmbeddingSpace, Span

if TYPE_CHECKING:
    from ragkit.contracts import Embedder, Vectors


class RagkitEmbeddings(Embeddings):
    """Embed with one of ragkit's embedding models, the settings' unless given.

    A text that is longer than the model reads is a ModelError: nothing is ever cut.
    """

    def __init__(self, embedder: Embedder | None = None) -> None:
        if embedder is None:
            from ragkit.knowledge import build
            from ragkit.settings.settings import load_settings

            embedder = build.embedder(load_settings())
        self.embedder = embedder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.embedder.load()
        return [[float(x) for x in row] for row in self.embedder.embed_passages(texts)]

    def embed_query(self, text: str) -> list[float]:
        self.embedder.load()
        return [float(x) for x in self.embedder.embed_query(text)]


def ragkit_embedder(embedding: Embeddings) -> Embedder:
    """Return the model behind `RagkitEmbeddings`, or any other wrapped as one of ragkit's."""
    if isinstance(embedding, RagkitEmbeddings):
        return embedding.embedder
    return LangChainEmbedder(embedding)


class LangChainEmbedder:
    """A LangChain embedding model as one of ragkit's; words stand for its tokens.

    Its space is named by the model's name, where the object tells one, and the object's class.
    """

    max_tokens = 1_000_000  # LangChain does not tell; the model cuts or refuses what is too long

    def __init__(self, embeddings: Embeddings) -> None:
        self._embeddings = embeddings
        self._space: EmbeddingSpace | None = None

    @property
    def space(self) -> EmbeddingSpace:
        assert self._space is not None, "load it first"
        return self._space

    def load(self) -> None:
        if self._space is None:
            embeddings = self._embeddings
            names = (getattr(embeddings, name, None) for name in ("model_name", "model"))
            name = next((value for value in names if isinstance(value, str)), "")
            kind = f"{type(embeddings).__module__}.{type(embeddings).__qualname__}"
            dimension = len(embeddings.embed_query("dimension"))
            self._space = EmbeddingSpace(f"{kind} {name}".strip(), "", dimension)

    def token_spans(self, text: str) -> Sequence[Span]:
        import re

        return [Span(*match.span()) for match in re.finditer(r"\S+", text)]

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.load()
        import numpy as np

        if not texts:
            return np.empty((0, self.space.dimension), np.float32)
        return unit(self._embeddings.embed_documents(list(texts)))

    def embed_query(self, text: str) -> Vectors:
        self.load()
        row: Vectors = unit([self._embeddings.embed_query(text)])[0]
        return row

    def reads(self, text: str) -> float:
        return 1.0


def unit(rows: Sequence[Sequence[float] | Vectors]) -> Vectors:
    """Scale vectors to length 1. Raises ModelError for one that has no direction."""
    import numpy as np

    vectors = np.asarray(rows, np.float32)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (np.isfinite(norms).all() and (norms > 0).all()):
        raise ModelError("The embedding model returned a vector of zeros, NaN or infinite values.")
    unit: Vectors = vectors / norms
    return unit
