"""Replace small chunks by their parents: the larger stretches that splitting gave them."""

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

    A hit keeps its chunk and its score, and has no parent any more. A hit whose document has
    changed since the search stays as it is. Fulfils `contracts.Refinement`.
    """

    name = "parents"

    def __init__(self, store: Store) -> None:
        self._store = store

    def refine(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Widen each hit to its parent's stretch of the stored text, without the lead above it."""
        children = [hit for hit in hits if hit.parent is not None]
        if not children:
            return list(hits)
        with self._store.snapshot() as reader:
            current = {
                (hit.chunk, hit.version) for hit in reader.hits([hit.chunk for hit in children])
            }
            widened = {
                hit.chunk: wide
                for hit, wide in zip(children, _widen(reader, children), strict=True)
                if (hit.chunk, hit.version) in current
            }
        return _merge_parents([widened.get(hit.chunk, hit) for hit in hits])


def _widen(reader: Reader, children: Sequence[Hit]) -> list[Hit]:
    """Return hits as their parents, with the page and headings of the first chunk in each."""
    spans = [hit.parent for hit in children if hit.parent is not None]
    places = [(hit.document, span) for hit, span in zip(children, spans, strict=True)]
    texts = reader.excerpts(places)
    around = reader.around([hit.chunk for hit in children], REACH)
    wide: list[Hit] = []
    for hit, span, text in zip(children, spans, texts, strict=True):
        first = next((c for c in around.get(hit.chunk, ()) if c.start >= span.start), None)
        page = hit.page if first is None else first.page
        headings = hit.headings if first is None else _common_path(first.headings, hit.headings)
        parent = replace(hit, start=span.start, end=span.end, text=text, lead="", parent=None)
        wide.append(replace(parent, page=page, headings=headings))
    return wide


def _merge_parents(hits: Sequence[Hit]) -> list[Hit]:
    """Keep the first hit of each stretch, with the duplicates of the others."""
    first: dict[tuple[int, int, Span], int] = {}
    merged: list[Hit] = []
    for hit in hits:
        key = (hit.document, hit.version, Span(hit.start, hit.end))
        at = first.setdefault(key, len(merged))
        if at == len(merged):
            merged.append(hit)
        else:
            best = merged[at]
            merged[at] = replace(best, duplicates=(*best.duplicates, *hit.duplicates))
    return merged


def _common_path(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    length = 0
    while length < min(len(first), len(second)) and first[length] == second[length]:
        length += 1
    return first[:length]
