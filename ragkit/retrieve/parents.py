"""Small chunks are searched, their parents shown: a hit's parent stands in its place.

It reads stored text and knows nothing of scores. What stretch is a chunk's parent was decided when
its document was split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ragkit.types import Hit, Span

if TYPE_CHECKING:
    from ragkit.contracts import Reader, Store

REACH: Final = 64  # chunks on each side whose headings and page are looked at; arbitrary


class Parents:
    """Show the parent of each hit that has one; hits of one parent become one, the best of them.

    A hit keeps its chunk and its score, and has no parent any more. One whose document has changed
    since it was found stays as it is. Fulfils `contracts.Refinement`.
    """

    name = "parents"

    def __init__(self, store: Store) -> None:
        self._store = store

    def refine(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Widen each hit to its parent's stretch of the stored text, less the lead over it."""
        small = [hit for hit in hits if hit.parent is not None]
        if not small:
            return list(hits)
        with self._store.snapshot() as reader:
            now = {(hit.chunk, hit.version) for hit in reader.hits([hit.chunk for hit in small])}
            shown = {
                hit.chunk: wide
                for hit, wide in zip(small, _widened(reader, small), strict=True)
                if (hit.chunk, hit.version) in now
            }
        return _joined([shown.get(hit.chunk, hit) for hit in hits])


def _widened(reader: Reader, small: Sequence[Hit]) -> list[Hit]:
    """Write parents into hits, with the page and the headings of the first chunk in each."""
    spans = [hit.parent for hit in small if hit.parent is not None]
    places = [(hit.document, span) for hit, span in zip(small, spans, strict=True)]
    texts = reader.excerpts(places)
    around = reader.around([hit.chunk for hit in small], REACH)
    wide: list[Hit] = []
    for hit, span, text in zip(small, spans, texts, strict=True):
        first = next((c for c in around.get(hit.chunk, ()) if c.start >= span.start), None)
        page = hit.page if first is None else first.page
        headings = hit.headings if first is None else _common(first.headings, hit.headings)
        shown = replace(hit, start=span.start, end=span.end, text=text, lead="", parent=None)
        wide.append(replace(shown, page=page, headings=headings))
    return wide


def _joined(hits: Sequence[Hit]) -> list[Hit]:
    """Keep the first of those that show the same stretch, with what the others left out."""
    first: dict[tuple[int, int, Span], int] = {}
    kept: list[Hit] = []
    for hit in hits:
        key = (hit.document, hit.version, Span(hit.start, hit.end))
        at = first.setdefault(key, len(kept))
        if at == len(kept):
            kept.append(hit)
        else:
            best = kept[at]
            kept[at] = replace(best, duplicates=(*best.duplicates, *hit.duplicates))
    return kept


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    same = 0
    while same < min(len(one), len(other)) and one[same] == other[same]:
        same += 1
    return one[:same]
