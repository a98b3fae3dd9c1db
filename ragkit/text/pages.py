"""On which page an offset lies."""

from bisect import bisect_right
from collections.abc import Sequence

from ragkit.types import Page


def page_at(pages: Sequence[Page], offset: int) -> int | None:
    """Return the number of the page that an offset lies on; None before the first, or without.

    >>> page_at([Page(0, 1), Page(90, 2)], 95)
    2
    """
    before = bisect_right(pages, offset, key=lambda page: page.start)
    return pages[before - 1].number if before else None
