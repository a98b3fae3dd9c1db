"""The passages that a conversation's turns were shown, fetched again as far as they were shown.

It knows nothing of prompts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ragkit.filters import Every
from ragkit.types import Hit, Span

if TYPE_CHECKING:
    from ragkit.contracts import Store
    from ragkit.filters import Filter
    from ragkit.store.conversations import UsedPassage


_ANY: Final = Every(())


def shown(
    store: Store,
    collection: str,
    used: Sequence[UsedPassage],
    cited: Sequence[int],
    *,
    where: Filter | None = None,
) -> Mapping[int, Hit]:
    """Map chunks to passages: those that were used, and those of the chunks that were cited.

    A passage that was widened beyond its chunk is so again. Those of documents that were replaced
    or deleted meanwhile are gone: kept as old versions, they are not what is asked about. So are
    those of documents that `where`, the filter of what is asked now, is not true of.
    """
    chunks = sorted({passage.chunk for passage in used}.union(cited))
    if not chunks:
        return {}
    with store.snapshot() as reader:
        there = reader.allowed(collection, chunks, where or _ANY)
        hits = {hit.chunk: hit for hit in reader.hits(there)}
        spans = {chunk: Span(hit.start, hit.end) for chunk, hit in hits.items()}
        for one in used:
            if one.chunk in hits and hits[one.chunk].version == one.version:
                span = spans[one.chunk]
                spans[one.chunk] = Span(min(span.start, one.start), max(span.end, one.end))
        wide = [hit for hit in hits.values() if spans[hit.chunk] != Span(hit.start, hit.end)]
        texts = reader.excerpts([(hit.document, spans[hit.chunk]) for hit in wide])
    for hit, text in zip(wide, texts, strict=True):
        span = spans[hit.chunk]
        hits[hit.chunk] = replace(hit, start=span.start, end=span.end, text=text)
    return hits
