"""The rows and columns of a sheet that its author hid.

Rows that a filter or a folded outline hides are shown again with a click, and are not meant.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from ragkit_ingest.parse.office.archive import child, children, local, number

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_TRUE = frozenset({"1", "true", "on"})


class Columns:
    """The hidden columns of a sheet; `seen` are those that something was in."""

    def __init__(self, columns: Element | None) -> None:
        self._ranges = sorted(
            (number(item.get("min"), 1), number(item.get("max"), 1))
            for item in (columns if columns is not None else ())
            if is_hidden(item)
        )
        self._starts = [first for first, _ in self._ranges]
        self.seen: set[int] = set()

    def hides(self, column: int) -> bool:
        """Say whether a column with something in it is hidden."""
        index = bisect_right(self._starts, column) - 1
        hidden = index >= 0 and column <= self._ranges[index][1]
        if hidden:
            self.seen.add(column)
        return hidden


def is_filtered(sheet: Element | None) -> bool:
    """Say whether a sheet has a filter, or a table, which can have one of its own."""
    if child(sheet, "tableParts") is not None:
        return True
    return any(local(item) == "filterColumn" for item in children(sheet, "autoFilter"))


def is_hidden(item: Element) -> bool:
    """Say whether a row or a range of columns is hidden, and by no fold."""
    return item.get("hidden") in _TRUE and not number(item.get("outlineLevel"))
