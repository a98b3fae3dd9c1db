"""The places where a text may be cut, from the best kind to the worst.

Paragraphs before sentences before clauses before words before characters; a grapheme is cut apart
only where nothing else is left.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain

from ragkit.text.sentences import starts as sentence_starts
from ragkit.types import Block
from ragkit_ingest.split.leads import Leads

_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_LINE = re.compile(r"\n")
# What stands before these ends a clause or a word; best first.
_WITHIN_SENTENCE = (
    re.compile(r"[；;][\"'”’」』）)]*"),
    re.compile(r"[，、：][\"'”’」』）)]*|[,:][\"'”’)]*(?=\s)|\s[—–-]+(?=\s)|\n"),
    re.compile(r"\s"),
)
_MAX_GRAPHEME_CHARS = 32  # a family emoji has 11; longer ones are no script's, and may be cut
_MAX_FLAG_CHARS = 2048  # how far a run of flags is looked back, to tell which two are a pair
_JOINER = "\u200d"


class Breaks:
    """The cuts of one text. Tables and code are cut at lines, if at all, and below their heads."""

    def __init__(self, text: str, blocks: Sequence[Block], leads: Leads) -> None:
        self.text = text
        self._solid = [block for block in blocks if block.kind in ("table", "code")]
        self._solid_starts = [block.start for block in self._solid]
        paragraphs = {edge for block in blocks for edge in (block.start, block.end)}
        lines = set(self._list_items(blocks))
        for start, end, solid in self._stretches():
            piece = text[start:end]
            if solid:
                lines.update(start + match.end() for match in _LINE.finditer(piece))
            else:
                paragraphs.update(start + match.end() for match in _BLANK_LINE.finditer(piece))
                lines.update(start + first for first in sentence_starts(piece))
        under = self._under_headings(blocks)
        self._barred = frozenset(chain(under, chain.from_iterable(leads.heads())))
        self._paragraphs = sorted(paragraphs - self._barred)
        self._sentences = sorted((lines | paragraphs) - self._barred)

    def best(self, low: int, high: int) -> int:
        """Choose the best cut in (low, high], the latest of its kind; there always is one."""
        for places in (self._paragraphs, self._sentences):
            place = latest(places, high)
            if place > low:
                return place
        for pattern in _WITHIN_SENTENCE:
            ends = [match.end() for match in pattern.finditer(self.text, low, high)]
            place = max((end for end in ends if end not in self._barred), default=low)
            if place > low:
                return place
        return self._character(low, high)

    def resume(self, low: int, end: int) -> int:
        """Choose where a chunk that follows a cut at `end` begins, no earlier than `low`.

        Whole sentences are repeated if one fits; a cut within a sentence repeats a clause or
        some words of it.
        """
        first = bisect_left(self._sentences, low)
        if first < len(self._sentences) and self._sentences[first] <= end:
            return self._sentences[first]
        for pattern in _WITHIN_SENTENCE:
            match = pattern.search(self.text, low, end)
            if match and match.end() < end:
                return match.end()
        return end

    def within(self, low: int, high: int) -> Sequence[int]:
        """Return the ends of sentences, and of lines in tables and code, in (low, high]."""
        places = self._sentences
        return places[bisect_right(places, low) : bisect_right(places, high)]

    def units(self) -> Iterator[tuple[int, int]]:
        """Divide the text into sentences, list items, and tables and code as wholes.

        A heading is one with the sentence below it.
        """
        start = 0
        for place in (*self._sentences, len(self.text)):
            if place > start and not self.solid_at(place):
                yield start, place
                start = place

    def solid_at(self, position: int) -> Block | None:
        """Return the table or code block that a position lies strictly inside of."""
        index = bisect_left(self._solid_starts, position) - 1
        block = self._solid[index] if index >= 0 else None
        return block if block and block.start < position < block.end else None

    def solid_end(self, position: int) -> int:
        """Return how far the last table or code block before a position reaches, at most to it."""
        index = bisect_left(self._solid_starts, position) - 1
        return min(position, self._solid[index].end) if index >= 0 else 0

    def _stretches(self) -> Iterator[tuple[int, int, bool]]:
        """Divide the text into tables or code (True) and everything else (False)."""
        done = 0
        for block in self._solid:
            yield done, block.start, False
            yield block.start, block.end, True
            done = block.end
        yield done, len(self.text), False

    def _list_items(self, blocks: Sequence[Block]) -> Iterator[int]:
        for block in blocks:
            if block.kind == "list":
                for match in _LINE.finditer(self.text, block.start, block.end):
                    yield match.end()

    def _under_headings(self, blocks: Sequence[Block]) -> Iterator[int]:
        """Yield the places between a heading and what it stands over, which is its own."""
        for block in blocks:
            if block.kind == "heading":
                yield from range(block.end, _next_word(self.text, block.end) + 1)

    def _character(self, low: int, high: int) -> int:
        for place in range(high, max(low, high - _MAX_GRAPHEME_CHARS), -1):
            if not _joins(self.text, place):
                return place
        return high


def latest(places: Sequence[int], limit: int) -> int:
    """Return the last of some sorted places that is not over a limit, or -1."""
    index = bisect_right(places, limit) - 1
    return places[index] if index >= 0 else -1


def _next_word(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _joins(text: str, place: int) -> bool:
    """Say whether a cut here would part a base from its marks, or an emoji sequence."""
    if place >= len(text):
        return False
    following, previous = text[place], text[place - 1]
    return (
        _JOINER in (previous, following)
        or unicodedata.category(following) in ("Mn", "Mc", "Me")  # with variation selectors
        or "\U0001f3fb" <= following <= "\U0001f3ff"  # skin tones
        or (_is_flag(previous) and _is_flag(following) and _flags_before(text, place) % 2 == 1)
    )


def _is_flag(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flags_before(text: str, place: int) -> int:
    """Count regional indicators right before a place; pairs of them are flags."""
    first = place
    while first > max(0, place - _MAX_FLAG_CHARS) and _is_flag(text[first - 1]):
        first -= 1
    return place - first
