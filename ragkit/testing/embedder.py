"""An embedder without a model: hashed bags of the analyser's terms.

Texts that share terms are close, and that is all it knows of meaning.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING
from zlib import crc32

from ragkit.errors import ModelError
from ragkit.text.analyse import CJK, analyse
from ragkit.types import EmbeddingSpace, Span

if TYPE_CHECKING:
    from ragkit.contracts import Vectors

_TOKEN = re.compile(rf"[{CJK}]|[^\s{CJK}]+")


class FakeEmbedder:
    """Embed texts as counts of hashed terms; a token is a CJK character or a run without spaces.

    >>> embedder = FakeEmbedder()
    >>> embedder.load()
    >>> round(float(embedder.embed_query("the wings") @ embedder.embed_query("wing, the")), 3)
    1.0
    """

    def __init__(self, *, dimension: int = 256, max_tokens: int = 64) -> None:
        self._space = EmbeddingSpace("fake-hashed-terms", "1", dimension)
        self._max_tokens = max_tokens
        self._loaded = False

    @property
    def space(self) -> EmbeddingSpace:
        assert self._loaded, "call load() first"
        return self._space

    @property
    def max_tokens(self) -> int:
        return self._max_tokens

    def load(self) -> None:
        self._loaded = True

    def token_spans(self, text: str) -> Sequence[Span]:
        return [Span(match.start(), match.end()) for match in _TOKEN.finditer(text)]

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        for text in texts:
            tokens = len(self.token_spans(text))
            if tokens > self._max_tokens:
                raise ModelError(
                    f"A passage has {tokens} tokens, {self._max_tokens} fit: make smaller chunks."
                )
        vectors = np.zeros((len(texts), self.space.dimension), np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._embed(text)
        return vectors

    def embed_query(self, text: str) -> Vectors:
        spans = self.token_spans(text)
        cut = text if len(spans) <= self._max_tokens else text[: spans[self._max_tokens - 1].end]
        return self._embed(cut)

    def reads(self, text: str) -> float:
        return 1.0

    def _embed(self, text: str) -> Vectors:
        import numpy as np

        vector = np.zeros(self.space.dimension, np.float32)
        for term in analyse(text) or [text]:  # never the zero vector
            vector[crc32(term.encode("utf-8", "surrogatepass")) % len(vector)] += 1
        unit: Vectors = vector / np.linalg.norm(vector)
        return unit
