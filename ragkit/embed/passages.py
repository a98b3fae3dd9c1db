"""Embed passages of any length: directly, or by windows where the model reads less.

Ingestion and re-embedding share this code, so that the same passage has the same vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from ragkit.embed.contract import by_ids
from ragkit.embed.windows import Pooling, pool, weigh, windows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragkit.contracts import Embedder, Vectors
    from ragkit.embed.contract import Row, TokenEmbedder

    Terms = NDArray[np.int32]

LongPassages = Literal["refuse", "mean", "max", "weighted"]


def embed_rows(
    embedder: TokenEmbedder, rows: Sequence[Row], long: LongPassages = "refuse"
) -> tuple[Vectors, int]:
    """Embed passages by their ids, shape (len(rows), dimension); count those that are too long.

    These are pooled over windows as `long` says (`ragkit.embed.windows`), each window with the
    passage prefix before it. Raises ModelError for one if `long` is "refuse".
    """
    import numpy as np

    if long == "refuse":
        return embedder.embed_ids(rows), 0
    prefix, limit = embedder.prefix_ids(), embedder.max_tokens
    texts = [row[len(prefix) :] for row in rows]
    terms = [[text[a:b] for a, b in windows(len(text), limit)] for text in texts]
    parts = [
        [row] if len(of_one) == 1 else [np.concatenate((prefix, part)) for part in of_one]
        for row, of_one in zip(rows, terms, strict=True)
    ]
    vectors = embedder.embed_ids([part for of_one in parts for part in of_one])
    return _pooled(vectors, terms, long)


def embed_texts(
    embedder: Embedder, texts: Sequence[str], long: LongPassages = "refuse"
) -> tuple[Vectors, int]:
    """Embed passages by their texts; otherwise as `embed_rows`."""
    inner = by_ids(embedder)
    if inner is not None:
        return embed_rows(inner, inner.passage_ids(texts), long)
    if long == "refuse":
        return embedder.embed_passages(texts), 0
    cut = [_text_windows(embedder, text) for text in texts]
    vectors = embedder.embed_passages([part for of_one in cut for part, _ in of_one])
    return _pooled(vectors, [[terms for _, terms in of_one] for of_one in cut], long)


def _pooled(parts: Vectors, terms: Sequence[Sequence[Terms]], how: Pooling) -> tuple[Vectors, int]:
    """Pool the windows of each passage, whose terms are given; `parts` are all windows in order."""
    import numpy as np

    vectors = np.empty((len(terms), parts.shape[1]), np.float32)
    first = 0
    for n, of_one in enumerate(terms):
        rows = parts[first : first + len(of_one)]
        first += len(of_one)
        if len(of_one) == 1:
            vectors[n] = rows[0]
        else:
            vectors[n] = pool(rows, how, weigh(of_one) if how == "weighted" else None)
    return vectors, sum(len(of_one) > 1 for of_one in terms)


def _text_windows(embedder: Embedder, text: str) -> list[tuple[str, Terms]]:
    """Cut a text, between tokens, into windows that the model reads, with the terms of each."""
    import numpy as np

    spans = list(embedder.token_spans(text))
    numbers: dict[str, int] = {}
    words = [text[span.start : span.end].casefold() for span in spans]
    terms = np.array([numbers.setdefault(word, len(numbers)) for word in words], np.int32)
    limit = size = embedder.max_tokens
    while True:
        lain = windows(len(spans), size)
        if len(lain) == 1:
            return [(text, terms)]
        parts = [text[spans[a].start : spans[b - 1].end] for a, b in lain]
        # Cut out of its text, a window can have more tokens than it had there.
        if size == 1 or all(len(embedder.token_spans(part)) <= limit for part in parts):
            return [(part, terms[a:b]) for part, (a, b) in zip(parts, lain, strict=True)]
        size = max(1, size * 7 // 8)
