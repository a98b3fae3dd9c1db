"""Small queries on the elements of a Word document: alternatives, rows, hidden text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragkit_ingest.parse.office.archive import attribute, child, local

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lxml.etree import _Element as Element


def chosen(item: Element) -> Element:
    """Take one of the ways in which newer and older programs draw the same thing."""
    if local(item) != "AlternateContent":
        return item
    choice = child(item, "Choice")
    fallback = child(item, "Fallback")
    chosen = fallback if choice is None else choice
    return item if chosen is None else chosen


def named_parts(parent: Element, name: str) -> Iterable[Element]:
    """Give the rows of a table or the cells of a row, also where controls are wrapped around."""
    for item in parent:
        if local(item) == name:
            yield item
        elif local(item) in {"sdt", "sdtContent", "customXml", "ins", "smartTag"}:
            yield from named_parts(item, name)


def is_hidden(run: Element) -> bool:
    """Say whether a run's text is hidden by its own format."""
    vanish = child(run, "rPr", "vanish")
    return vanish is not None and attribute(vanish, "val") not in {"0", "false", "off"}


def count_comments(comments: Element | None) -> int:
    """Count the comments that have text."""
    listed = comments if comments is not None else ()
    return sum(1 for item in listed if "".join(str(part) for part in item.itertext()).strip())
