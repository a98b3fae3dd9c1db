"""What is shown around a hit: its neighbours, its section, or what the section stands in.

It reads stored text and where chunks lie in it; it knows nothing of scores or of how hits were
found. A hit keeps its chunk and its score: only the stretch of text that it shows grows.
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

    "neighbours" are the chunks before and after; "section" those that stand under the hit's own
    headings, with the subsections; "parent" those under the heading one level up, where there is
    none the whole document. What is too large is shown as far as it fits, from the hit outwards.
    Hits that then overlap become one, in the place and with the chunk of the best. A hit whose
    document has changed since it was found stays as it is. Fulfils `contracts.Refinement`.
    """

    name = "expand"

    def __init__(self, store: Store, kind: Kind, *, max_tokens: int = 1024) -> None:
        self._store = store
        self._kind = kind
        self._max_tokens = max_tokens

    def refine(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Widen each hit; the text is the stored text from the first to the last chunk."""
        if not hits:
            return []
        with self._store.snapshot() as reader:
            now = {(hit.chunk, hit.version) for hit in reader.hits([hit.chunk for hit in hits])}
            kept = [hit.chunk for hit in hits if (hit.chunk, hit.version) in now]
            around = reader.around(kept, REACH)
            shown = _joined(self._widened(hit, around) for hit in hits)
            wider = [one for one in shown if one.chunks]
            places = [(one.hit.document, Span(one.start, one.end)) for one in wider]
            texts = iter(reader.excerpts(places))
        return [_shown(one, next(texts)) if one.chunks else one.hit for one in shown]

    def _widened(self, hit: Hit, around: Mapping[int, Sequence[Chunk]]) -> _Wide:
        chunks = around.get(hit.chunk, ())
        own = next(
            (n for n, c in enumerate(chunks) if (c.start, c.end) == (hit.start, hit.end)), -1
        )
        if own < 0:
            return _Wide(hit, hit.start, hit.end, ())
        taken = self._taken(chunks, own)
        return _Wide(hit, min(c.start for c in taken), max(c.end for c in taken), taken)

    def _taken(self, chunks: Sequence[Chunk], own: int) -> tuple[Chunk, ...]:
        """Grow from a chunk to both sides in turn, while what comes next belongs to it and fits."""
        first = last = own
        left = self._max_tokens - chunks[own].tokens
        after, before = True, True
        while after or before:
            if after:
                after = last + 1 < len(chunks) and self._fits(chunks, own, last + 1, left)
                if after:
                    last += 1
                    left -= chunks[last].tokens
            if before:
                before = first > 0 and self._fits(chunks, own, first - 1, left)
                if before:
                    first -= 1
                    left -= chunks[first].tokens
        return tuple(chunks[first : last + 1])

    def _fits(self, chunks: Sequence[Chunk], own: int, other: int, left: int) -> bool:
        if chunks[other].tokens > left:
            return False
        path, its = chunks[own].headings, chunks[other].headings
        if self._kind == "section":
            return its[: len(path)] == path if path else its == path
        if self._kind == "parent":
            return its[: len(path) - 1] == path[:-1] if path else True
        return True


@dataclass(frozen=True, slots=True)
class _Wide:
    """A hit and the stretch to show of its document; no chunks: the hit as it is."""

    hit: Hit
    start: int
    end: int
    chunks: tuple[Chunk, ...]

    def overlaps(self, other: _Wide) -> bool:
        same = (self.hit.document, self.hit.version) == (other.hit.document, other.hit.version)
        return same and self.start < other.end and other.start < self.end


def _joined(wides: Iterable[_Wide]) -> list[_Wide]:
    """Make one of those that overlap, in the place of the best."""
    kept: list[_Wide] = []
    for wide in wides:
        over = [one for one in kept if one.chunks and wide.chunks and one.overlaps(wide)]
        if not over:
            kept.append(wide)
            continue
        parts = [*over, wide]
        also = tuple(copy for one in parts for copy in one.hit.duplicates)
        best = _Wide(
            replace(over[0].hit, duplicates=also),
            min(one.start for one in parts),
            max(one.end for one in parts),
            tuple(chunk for one in parts for chunk in one.chunks),
        )
        kept = [best if one is over[0] else one for one in kept if one not in over[1:]]
    return kept


def _shown(wide: _Wide, text: str) -> Hit:
    """Write the stretch into the hit, with its first page and the headings that all of it has."""
    first = min(wide.chunks, key=lambda chunk: chunk.start)
    return replace(
        wide.hit,
        page=first.page,
        start=wide.start,
        end=wide.end,
        text=text,
        headings=_common([chunk.headings for chunk in wide.chunks]),
    )


def _common(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    levels = zip(*paths, strict=False)
    return tuple(level[0] for level in takewhile(lambda level: len(set(level)) == 1, levels))
