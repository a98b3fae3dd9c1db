"""The numbered markers of an answer, and the sentence that each belongs to."""

import re
from bisect import bisect_left
from dataclasses import dataclass

from ragkit.text.sentences import sentences
from ragkit.types import Span

# [1], [1, 2], [1-3], 【1】, ［1］, and the 【1†L3-L5】 of some models. All bounded, so that a
# stream is not held back for long.
NUMBERS = r"\d{1,3}(?:\s{0,2}[,，、;；\-–]\s{0,2}\d{1,3}){0,20}"
NOTE = r"†[^\]］】\n]{0,40}"
MARKER = re.compile(rf"[\[［【]\s{{0,2}}({NUMBERS})\s{{0,2}}(?:{NOTE})?[\]］】]")
_RANGE = re.compile(r"(\d+)(?:\s*[\-–]\s*(\d+))?")
_MAX_RANGE = 20  # arbitrary; [1-999] is no citation


@dataclass(frozen=True, slots=True)
class Marker:
    """A citation marker `text[start:end]` and the source numbers in it, in order."""

    start: int
    end: int
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of an answer, without the markers around it, and the numbers it cites."""

    start: int
    end: int
    cites: tuple[int, ...]


def find_markers(text: str) -> list[Marker]:
    """Find the citation markers of an answer, in order.

    >>> [marker.numbers for marker in find_markers("One [1][3]. 二【2】。 Both [1, 2].")]
    [(1,), (3,), (2,), (1, 2)]
    """
    return [Marker(m.start(), m.end(), _numbers(m.group(1))) for m in MARKER.finditer(text)]


def without_markers(text: str) -> str:
    """Replace the markers by spaces, so that every offset stays the same."""
    return MARKER.sub(lambda match: " " * len(match.group()), text)


def split_statements(text: str) -> list[Statement]:
    """Split an answer into sentences with the numbers that each cites.

    A marker between two sentences belongs to the first, unless the first has markers of its own
    and the marker opens the second on the same line.
    """
    spans = sentences(without_markers(text))
    starts = [span.start for span in spans]
    cites: list[list[int]] = [[] for _ in spans]
    inside: set[int] = set()
    between: list[tuple[int, Marker]] = []
    for marker in find_markers(text):
        previous = bisect_left(starts, marker.start) - 1  # the last sentence that has begun
        if previous >= 0 and marker.start < spans[previous].end:
            inside.add(previous)
            cites[previous].extend(marker.numbers)
        elif spans:
            between.append((previous, marker))
    for previous, marker in between:
        cites[_owner(previous, marker, spans, inside, text)].extend(marker.numbers)
    return [
        Statement(span.start, span.end, tuple(dict.fromkeys(numbers)))
        for span, numbers in zip(spans, cites, strict=True)
    ]


def _owner(previous: int, marker: Marker, spans: list[Span], inside: set[int], text: str) -> int:
    following = previous + 1
    if previous < 0 or following == len(spans):
        return max(previous, 0)
    opens_line = "\n" in text[spans[previous].end : marker.start]
    ends_line = "\n" in text[marker.end : spans[following].start]
    return following if not ends_line and (opens_line or previous in inside) else previous


def _numbers(body: str) -> tuple[int, ...]:
    numbers: list[int] = []
    for match in _RANGE.finditer(body):
        first, last = int(match.group(1)), int(match.group(2) or match.group(1))
        cited = range(first, last + 1) if 0 <= last - first < _MAX_RANGE else (first, last)
        numbers.extend(cited)
    return tuple(dict.fromkeys(numbers))
