"""Cut a stretch of a text into pieces of at most so many tokens, at the best places in reach.

One pass, so that the time grows with the text only.
"""

from __future__ import annotations

from collections.abc import Iterator

from ragkit.types import Block, Span
from ragkit_ingest.split.breaks import latest
from ragkit_ingest.split.layout import Layout, Piece
from ragkit_ingest.split.sizes import Sizes

_LEAD_SHARE = 4  # arbitrary: a lead takes a quarter of a chunk at most, or is left out


class Cutter:
    """Cuts stretches of one text. Neighbours share whole sentences where they fit."""

    def __init__(self, layout: Layout, sizes: Sizes) -> None:
        self._layout = layout
        self._size = sizes.tokens
        self._overlap = sizes.overlap
        self._ruler = layout.ruler
        self._breaks = layout.breaks

    def pieces(self, start: int, end: int) -> Iterator[Piece]:
        """Cut a range; every character of it that is not white space is in some piece."""
        trimmed = self._layout.trimmed
        start, end = trimmed(start, end)
        done = start  # everything before it is in a piece
        while done < end:
            lead = self.lead(start)
            cut, tokens = self._fit(start, done, end, lead)
            if cut <= done:  # the overlap left no room for what must stay whole
                start = done
                continue
            yield Piece(start, trimmed(start, cut)[1], tokens, lead)
            done = trimmed(cut, end)[0]
            if done < end:
                start = trimmed(self._resume(start, done), end)[0]

    def lead(self, start: int) -> Span | None:
        """Return what is repeated over a piece that begins here, unless it takes much room."""
        lead = self._layout.leads.at(start)
        if lead is None or self._ruler.count(lead.start, lead.end) > self._size // _LEAD_SHARE:
            return None
        return lead

    def _fit(self, start: int, done: int, end: int, lead: Span | None) -> tuple[int, int]:
        """Choose the end of a piece; count it, and choose a nearer one while it is too large."""
        room = self._size
        if lead is not None:
            room -= self._ruler.between(lead.start, lead.end)
        budget = room
        cut = self._cut(start, done, end, budget)
        while True:
            tokens = self._ruler.count(*self._layout.trimmed(start, cut), lead)
            if tokens <= self._size or cut - start <= 1:
                return cut, tokens
            if budget > 1:
                budget = max(1, min(budget - 1, budget * self._size // tokens))
                cut = self._cut(start, done, end, budget)
            else:
                cut = start + (cut - start) // 2
            if cut <= done:
                return done, 0

    def _cut(self, start: int, done: int, end: int, budget: int) -> int:
        """Choose where a piece that begins at `start` ends: after `done`, or there if it cannot."""
        ruler = self._ruler
        first = ruler.index(start)
        remaining = ruler.index(end) - first
        if remaining <= budget:
            return end
        # What is left over should be no crumb; and a character can be several tokens.
        limit = min(budget, max(remaining - self._size // 4, budget // 2))
        high = max(ruler.at(first + limit), start + 1)
        solid = self._breaks.solid_at(high)
        if solid and solid.start >= done and (self._fits(solid) or self._beheads(high)):
            if solid.start > done:
                return solid.start
            if start < done:
                return done
        low = max(done, min(ruler.at(first + budget // 2), high - 1))
        return self._breaks.best(low, high) if low < high else done

    def _resume(self, start: int, cut: int) -> int:
        """Choose where the next piece begins: never before a heading, nor in a table or code."""
        if not self._overlap:
            return cut
        low = max(
            start + 1,
            self._ruler.back(cut, self._overlap),
            latest(self._layout.outline.starts, cut),
            self._breaks.solid_end(cut),
        )
        return self._breaks.resume(low, cut) if low < cut else cut

    def _fits(self, block: Block) -> bool:
        return self._ruler.between(block.start, block.end) <= self._size

    def _beheads(self, position: int) -> bool:
        return self._layout.leads.headed(position) is not None
