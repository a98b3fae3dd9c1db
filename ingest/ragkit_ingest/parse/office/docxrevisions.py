"""Tracked changes of a Word document: the elements that each version leaves out.

Accepted is the text as it would be with every change accepted, original the text before; both has
what was deleted and what was inserted, in order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ragkit_ingest.parse.office.archive import local

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

Revisions = Literal["accepted", "original", "both"]

_DELETED = frozenset({"del", "moveFrom", "cellDel"})
_INSERTED = frozenset({"ins", "moveTo", "cellIns"})
_LEFT_OUT = {"accepted": _DELETED, "original": _INSERTED, "both": frozenset[str]()}
# Where a change is one of a mark or a format, and of no text.
_MARKS = frozenset({"rPr", "pPr", "ctrlPr", "numPr"})


def left_out(revisions: Revisions) -> frozenset[str]:
    """Name the elements whose content is left out."""
    return _LEFT_OUT[revisions] | ({"delText"} if revisions == "accepted" else set())


def is_left_out(properties: Element | None, revisions: Revisions) -> bool:
    """Say whether a table's row or cell with these properties was inserted or deleted so."""
    changes = {local(item) for item in (properties if properties is not None else ())}
    return bool(changes & _LEFT_OUT[revisions])


def count(root: Element | None) -> int:
    """Count a part's changes of text, rows and cells."""
    if root is None:
        return 0
    return sum(local(item) in _DELETED | _INSERTED and _is_of_text(item) for item in root.iter())


def _is_of_text(change: Element) -> bool:
    parent = change.getparent()
    if parent is None or local(parent) in _MARKS:
        return False
    return local(parent) in {"trPr", "tcPr"} or len(change) > 0
