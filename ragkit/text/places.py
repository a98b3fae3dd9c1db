"""Where a place in a document stands: on which page, and under which headings."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Final

from ragkit.types import Hit, Page, Span

_HEADING: Final = re.compile(r"(#{1,6})[ \t]+")
_FENCE: Final = re.compile(r"(`{3,}|~{3,})")
# Formats stored as they are, in which # begins a comment.
_COMMENTED: Final = frozenset(
    ".py .pyi .pyw .sh .bash .zsh .rb .pl .pm .php .r .jl .ex .exs .ps1 .yaml .yml .toml .ini .cfg"
    " .conf .properties .txt".split()
)


def page_at(pages: Sequence[Page], offset: int) -> int | None:
    """Return the number of the page that an offset lies on; None before the first, or without.

    >>> page_at([Page(0, 1), Page(90, 2)], 95)
    2
    """
    index = bisect_right(pages, offset, key=lambda page: page.start)
    return pages[index - 1].number if index else None


def page_span(pages: Sequence[Page], number: int, chars: int) -> Span:
    """Return the characters on the page of a number, in a text of so many; none without the page.

    >>> page_span([Page(0, 1), Page(90, 3)], 1, 120), page_span([Page(0, 1), Page(90, 3)], 2, 120)
    (Span(start=0, end=90), Span(start=0, end=0))
    """
    for place, page in enumerate(pages):
        if page.number == number:
            end = pages[place + 1].start if place + 1 < len(pages) else chars
            return Span(page.start, end)
    return Span(0, 0)


def headings_at(hit: Hit, position: int) -> tuple[str, ...]:
    """Return the headings, outermost first, that a character of the document stands under.

    A passage of several short sections has only those headings of its own that they share; the
    others are read in its text. `position` counts in the document and lies in the passage.
    """
    if hit.lead or PurePath(hit.uri).suffix.lower() in _COMMENTED:
        return hit.headings
    path: list[tuple[int, str]] = []
    for level, heading in _read(hit.text[: max(0, position - hit.start)]):
        path = [*(outer for outer in path if outer[0] < level), (level, heading)]
    inner = tuple(heading for _, heading in path if heading)
    outer = hit.headings
    return outer[: outer.index(inner[0])] + inner if inner and inner[0] in outer else outer + inner


def _read(text: str) -> Iterator[tuple[int, str]]:
    """Yield level and text of each heading on a line of its own that ends before the text does."""
    fence = ""
    for line in text.split("\n")[:-1]:
        mark = _FENCE.match(line.lstrip())
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence and (heading := _HEADING.match(line)):
            yield len(heading[1]), _unmarked(line[heading.end() :])


def _unmarked(text: str) -> str:
    """Take off the marks that may close a heading; the last sign of "C#" is none."""
    words = text.split()
    if words and not words[-1].strip("#"):
        words.pop()
    return " ".join(words)


def heading_path(title: str, headings: Sequence[str]) -> str:
    """Write the headings that say more than the document's title, which is shown beside them.

    >>> heading_path("Leave", ["Leave", "Parents", "Fathers"])
    'Parents > Fathers'
    """
    path = headings[1:] if headings and headings[0].casefold() == title.casefold() else headings
    return " > ".join(path)
