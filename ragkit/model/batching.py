"""Batches of texts that a server takes in one request: bounded in number and in characters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

BATCH: Final = 32  # text-embeddings-inference's own default for --max-client-batch-size
BATCH_CHARS: Final = 200_000  # arbitrary: well under the 2 MB that it takes by default


def request_batches(
    texts: Sequence[str], max_texts: int, max_chars: int
) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each batch; a text over `max_chars` has one of its own.

    >>> list(request_batches(["aaa", "b", "c", "d"], 2, 3))
    [(0, 1), (1, 3), (3, 4)]
    """
    first = size = 0
    for index, text in enumerate(texts):
        if index > first and (index - first == max_texts or size + len(text) > max_chars):
            yield first, index
            first, size = index, 0
        size += len(text)
    if texts:
        yield first, len(texts)
