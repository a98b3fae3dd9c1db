"""Find the page of an offset, and the text of a page."""

from bisect import bisect_right
from collections.abc import Sequence

from ragkit.types import Page, Span


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
