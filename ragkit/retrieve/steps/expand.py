"""Widen a hit by the text around it: its neighbours, its section, or the parent section.

A hit keeps its chunk and its score; only its stretch of text grows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Final, Literal

from ragkit.types import Chunk, Hit, Span

if TYPE_CHECKING:
    from ragkit.contracts import Store

Kind = Literal["neighbours", "section", "parent"]

REACH: Final = 64  # chunks on each side; arbitrary: far more than a prompt holds


class Widen:
    """Show more of a hit's document around it, up to `max_tokens` tokens of the embedder.

    "neighbours" are the chunks on both sides; "section" those under the hit's own headings, with
    the subsections; "parent" those under the heading one level up, or the whole document where
    there is none. A stretch that is too large is cut to the budget, from the hit outwards. Hits
    that then overlap become one, in the place and with the chunk of the best. A hit whose document
    has changed since the search stays as it is. Fulfils `contracts.Refinement`.
    """

    name = "expand"

    def __init__(self, store: Store, kind: Kind, *, max_tokens: int = 1024) -> None:
        self._store = store
        self._kind = kind
        self._max_tokens = max_tokens

    def refine(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Widen each hit; its text becomes the stored text from the first to the last chunk."""
        if not hits:
            return []
        with self._store.snapshot() as reader:
            current = {(hit.chunk, hit.version) for hit in reader.hits([hit.chunk for hit in hits])}
            unchanged = [hit.chunk for hit in hits if (hit.chunk, hit.version) in current]
            around = reader.around(unchanged, REACH)
            stretches = _merge_overlapping(self._widened(hit, around) for hit in hits)
            widened = [stretch for stretch in stretches if stretch.chunks]
            places = [
                (stretch.hit.document, Span(stretch.start, stretch.end)) for stretch in widened
            ]
            texts = iter(reader.excerpts(places))
        return [
            _write_stretch(stretch, next(texts)) if stretch.chunks else stretch.hit
            for stretch in stretches
        ]

    def _widened(self, hit: Hit, around: Mapping[int, Sequence[Chunk]]) -> _Stretch:
        chunks = around.get(hit.chunk, ())
        place = next(
            (n for n, c in enumerate(chunks) if (c.start, c.end) == (hit.start, hit.end)), -1
        )
        if place < 0:
            return _Stretch(hit, hit.start, hit.end, ())
        chosen = self._grow(chunks, place)
        return _Stretch(hit, min(c.start for c in chosen), max(c.end for c in chosen), chosen)

    def _grow(self, chunks: Sequence[Chunk], place: int) -> tuple[Chunk, ...]:
        """Grow from a chunk to both sides in turn, while the next chunk belongs to it and fits."""
        first = last = place
        budget = self._max_tokens - chunks[place].tokens
        forward, backward = True, True
        while forward or backward:
            if forward:
                forward = last + 1 < len(chunks) and self._fits(chunks, place, last + 1, budget)
                if forward:
                    last += 1
                    budget -= chunks[last].tokens
            if backward:
                backward = first > 0 and self._fits(chunks, place, first - 1, budget)
                if backward:
                    first -= 1
                    budget -= chunks[first].tokens
        return tuple(chunks[first : last + 1])

    def _fits(self, chunks: Sequence[Chunk], place: int, candidate: int, budget: int) -> bool:
        if chunks[candidate].tokens > budget:
            return False
        section, path = chunks[place].headings, chunks[candidate].headings
        if self._kind == "section":
            return path[: len(section)] == section if section else path == section
        if self._kind == "parent":
            return path[: len(section) - 1] == section[:-1] if section else True
        return True


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A hit and its stretch of the document; without chunks the hit stays as it is."""

    hit: Hit
    start: int
    end: int
    chunks: tuple[Chunk, ...]

    def overlaps(self, other: _Stretch) -> bool:
        same_version = (self.hit.document, self.hit.version) == (
            other.hit.document,
            other.hit.version,
        )
        return same_version and self.start < other.end and other.start < self.end


def _merge_overlapping(stretches: Iterable[_Stretch]) -> list[_Stretch]:
    """Merge stretches that overlap, in the place of the best."""
    merged: list[_Stretch] = []
    for stretch in stretches:
        overlapping = [
            part for part in merged if part.chunks and stretch.chunks and part.overlaps(stretch)
        ]
        if not overlapping:
            merged.append(stretch)
            continue
        parts = [*overlapping, stretch]
        duplicates = tuple(copy for part in parts for copy in part.hit.duplicates)
        union = _Stretch(
            replace(overlapping[0].hit, duplicates=duplicates),
            min(part.start for part in parts),
            max(part.end for part in parts),
            tuple(chunk for part in parts for chunk in part.chunks),
        )
        merged = [
            union if part is overlapping[0] else part
            for part in merged
            if part not in overlapping[1:]
        ]
    return merged


def _write_stretch(stretch: _Stretch, text: str) -> Hit:
    """Return the hit with its stretch, the first page and the headings that all its chunks
    share.
    """
    first = min(stretch.chunks, key=lambda chunk: chunk.start)
    return replace(
        stretch.hit,
        page=first.page,
        start=stretch.start,
        end=stretch.end,
        text=text,
        headings=_common_path([chunk.headings for chunk in stretch.chunks]),
    )


def _common_path(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    levels = zip(*paths, strict=False)
    return tuple(level[0] for level in takewhile(lambda level: len(set(level)) == 1, levels))
