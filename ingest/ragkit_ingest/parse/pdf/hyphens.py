"""Decide from a document's other words whether a hyphen at a line's end belongs to the word."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORD = re.compile(r"[^\W\d_]+(?:[-‐][^\W\d_]+)*")
_HYPHENS = str.maketrans("‐", "-")
_TAIL = re.compile(r"[\w'’-]*$")  # without overlapping repeats: one class
_HEAD = re.compile(r"[^\W\d_]+")
_MIN_PART_CHARS = 4  # arbitrary; shorter words are often also syllables: in-form, an-other
# What English nearly always writes a hyphen after; arbitrary, and heard last.
_COMPOUNDING = frozenset("all cross ex half non quasi self semi well".split())


class Words:
    """The words of a document as it writes them within its lines."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._known = frozenset(
            word.translate(_HYPHENS).casefold() for text in texts for word in _WORD.findall(text)
        )

    def join(self, head: str, tail: str) -> str:
        """Join two lines of which the first ends with a hyphen.

        >>> Words(["a restored text"]).join("We re-", "stored it")
        'We restored it'
        >>> Words(["a built-in level"]).join("The built-", "in clock")
        'The built-in clock'
        """
        return (head if self._keeps(head[:-1], tail) else head[:-1]) + tail

    def _keeps(self, head: str, tail: str) -> bool:
        start, end = _TAIL.search(head[-100:]), _HEAD.match(tail[:100])
        if not start or not end or not end.group()[0].islower():
            return True  # a number, a name, a formula
        first, second = start.group().casefold(), end.group().casefold()
        if not first.isalpha():
            return True  # state-of-the-
        if f"{first}-{second}" in self._known:
            return True
        if first + second in self._known:
            return False
        if first in _COMPOUNDING:
            return True
        parts = {first, second}
        return min(map(len, parts)) >= _MIN_PART_CHARS and parts <= self._known
