"""Fetch the passages of a conversation's turns again, as wide as they were shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ragkit.filters.tree import Every
from ragkit.types import Hit, Span

if TYPE_CHECKING:
    from ragkit.contracts import Store
    from ragkit.filters.tree import Filter
    from ragkit.store.people.conversations import UsedPassage


_ANY: Final = Every(())


def fetch_passages(
    store: Store,
    collection: str,
    used: Sequence[UsedPassage],
    cited: Sequence[int],
    *,
    where: Filter | None = None,
) -> Mapping[int, Hit]:
    """Map chunks to passages: those that were used, and those of the chunks that were cited.

    A passage that was widened beyond its chunk is widened again. Passages of documents that have
    been replaced or deleted are absent: the question is about the current versions. So are those of
    documents that `where`, the question's filter, is not true of.
    """
    chunks = sorted({passage.chunk for passage in used}.union(cited))
    if not chunks:
        return {}
    with store.snapshot() as reader:
        allowed = reader.allowed(collection, chunks, where or _ANY)
        hits = {hit.chunk: hit for hit in reader.hits(allowed)}
        spans = {chunk: Span(hit.start, hit.end) for chunk, hit in hits.items()}
        for passage in used:
            if passage.chunk in hits and hits[passage.chunk].version == passage.version:
                span = spans[passage.chunk]
                spans[passage.chunk] = Span(
                    min(span.start, passage.start), max(span.end, passage.end)
                )
        wide = [hit for hit in hits.values() if spans[hit.chunk] != Span(hit.start, hit.end)]
        texts = reader.excerpts([(hit.document, spans[hit.chunk]) for hit in wide])
    for hit, text in zip(wide, texts, strict=True):
        span = spans[hit.chunk]
        hits[hit.chunk] = replace(hit, start=span.start, end=span.end, text=text)
    return hits
