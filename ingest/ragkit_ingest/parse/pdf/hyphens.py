"""Decide from a document's other words whether a hyphen at a line's end belongs to the word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from ragkit_ingest.parse.pdf.lines import Line

_WORD = re.compile(r"[^\W\d_]+(?:[-‐][^\W\d_]+)*")
_HYPHENS = str.maketrans("‐", "-")
_TAIL = re.compile(r"[\w'’-]*$")  # without overlapping repeats: one class
_HEAD = re.compile(r"[^\W\d_]+")
_MIN_PART_CHARS = 4  # arbitrary; shorter words are often also syllables: in-form, an-other
_LONG = re.compile(r"[^\W\d_]{8,}")  # words that a program would rather break; arbitrary
_ROOM = 5  # characters: the fewest for which one would, with the hyphen; arbitrary
_NEXT_LINE = 2.0  # in line heights: further down begins another text
# What English nearly always writes a hyphen after; arbitrary, and heard last.
_COMPOUNDING = frozenset("all cross ex half non quasi self semi well".split())


class Words:
    """The words of a document as it writes them within its lines.

    `texts` are the lines in reading order; the parts of words that are broken between two do not
    count. `are_broken`: the document breaks words at line ends.
    """

    def __init__(self, texts: Iterable[str] = (), *, are_broken: bool = True) -> None:
        self._are_broken = are_broken
        known: set[str] = set()
        is_broken = False
        for text in texts:
            words = _WORD.findall(text.translate(_HYPHENS).casefold())
            begin, is_broken = is_broken, text.endswith(("-", "‐"))
            known.update(words[begin : len(words) - is_broken])
        self._known = frozenset(known)

    def unbroken(self) -> Words:
        """Give the same words for a text whose lines break none, such as a heading."""
        words = Words(are_broken=False)
        words._known = self._known
        return words

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
        if not start or not end or not start.group().isalpha():
            return True  # a number, a formula, state-of-the-
        first, second = start.group().casefold(), end.group().casefold()
        if f"{first}-{second}" in self._known:
            return True
        if first + second in self._known:
            return False
        if not (self._are_broken and end.group()[0].islower()):
            return True  # in capitals, it is a name
        if first in _COMPOUNDING:
            return True
        parts = {first, second}
        return min(map(len, parts)) >= _MIN_PART_CHARS and parts <= self._known


def are_broken(pages: Sequence[Sequence[Line]]) -> bool:
    """Say whether a document breaks words at line ends.

    If it does, lines seldom leave room for a part of a long word that begins the next one: fewer do
    than end with a hyphen.
    """
    hyphens = whole = 0
    for run in (run for page in pages for run in _runs(page)):
        edge = max(line.right for line in run)
        for line, following in pairwise(run):
            word = _LONG.match(following.text)
            width = (following.right - following.left) / max(len(following.text.strip()), 1)
            hyphens += line.text.endswith(("-", "‐"))
            if word and word.group().islower():
                whole += _ROOM * width <= edge - line.right <= len(word.group()) * width
    return hyphens > whole


def _runs(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Put lines together that begin below each other."""
    run: list[Line] = []
    for line in (line for line in lines if not line.rows):
        last = run[-1] if run else line
        is_near = 0 < last.bottom - line.bottom <= _NEXT_LINE * line.height
        if run and not (is_near and abs(last.left - line.left) <= 1):
            yield run
            run = []
        run.append(line)
    if run:
        yield run
