"""Locate copies of the pieces of a text in that text, in order and ignoring white space."""

from __future__ import annotations

from array import array
from bisect import bisect_left

from ragkit.types import Span


class Recovery:
    """One text without its white space, and where each of its characters stood.

    >>> recovery = Recovery("one  two\\nthree two")
    >>> [recovery.find(piece, 0) for piece in ("one two", "three  two", "four")]
    [Span(start=0, end=8), Span(start=9, end=18), None]
    """

    def __init__(self, text: str) -> None:
        self._places = array("q", (n for n, char in enumerate(text) if not char.isspace()))
        self._text = "".join(text.split())
        self._start = 0  # of the last piece found, and its end, both without white space
        self._end = 0

    def find(self, piece: str, low: int) -> Span | None:
        """Return where the next piece stands, trimmed; `low` is the earliest place likely.

        A piece that could stand in several places, as in a repetitive text, is taken to be the last
        one that leaves no gap behind the piece before. White space alone is an empty span.
        """
        dense = "".join(piece.split())
        if not dense:
            return Span(low, low)
        first = max(self._start, bisect_left(self._places, low))
        at = self._text.rfind(dense, min(first, self._end), self._end + len(dense))
        if at < 0:
            at = self._text.find(dense, self._start)
        if at < 0:
            return None
        self._start, self._end = at, max(self._end, at + len(dense))
        return Span(self._places[at], self._places[at + len(dense) - 1] + 1)
