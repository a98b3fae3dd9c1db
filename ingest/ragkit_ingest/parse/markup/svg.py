"""Parse drawings (.svg): their title and description, and the text that is written in them.

Shapes say nothing; what is not shown, styles and scripts are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragkit.errors import IngestError
from ragkit.types import ParsedText
from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.labels import labelled
from ragkit_ingest.parse.office.archive import attribute, local
from ragkit_ingest.parse.options import ParseOptions
from ragkit_ingest.parse.xmltree import root_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element as Element

NO_TEXT = "a drawing without text"
_DROPPED = frozenset({"style", "script", "metadata", "namedview"})
# Text within shapes: a line each. HTML within a drawing has lines of its own.
_LINES = frozenset("text p div li td th h1 h2 h3 h4 h5 h6 desc title".split())


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse a drawing. Raises IngestError for one that is damaged or declares entities."""
    root = root_of(data)
    if local(root) != "svg":
        raise IngestError("parse", "not an SVG drawing, as its name says")
    title = next((_line(item) for item in root if local(item) == "title"), "")
    builder = Builder()
    builder.heading(1, title)
    hidden = 0
    waiting = [root]
    while waiting:
        item = waiting.pop()
        if _is_hidden(item):
            hidden += 1
        elif local(item) not in _DROPPED:
            is_title = local(item) == "title" and item.getparent() is root
            if not is_title:
                builder.paragraph(_own(item))
            waiting.extend(reversed(item))
    notes = {"hidden text": hidden} if hidden else {}
    return labelled(builder.result(title=title), {}, notes)


def _is_hidden(item: Element) -> bool:
    style = "".join((item.get("style") or "").split())
    hides = item.get("display") == "none" or item.get("visibility") == "hidden"
    is_hidden = hides or "display:none" in style or "visibility:hidden" in style
    return is_hidden and any(local(part) in _LINES for part in item.iter())


def _own(item: Element) -> str:
    """Give the text of a line, without that of lines in it; "" for any other element."""
    if local(item) not in _LINES:
        return ""
    pieces = [item.text or ""]
    for part in item:
        if local(part) not in _LINES | _DROPPED and not _is_hidden(part):
            pieces.extend(_pieces(part))
        pieces.append(part.tail or "")
    return " ".join("".join(pieces).split())


def _pieces(item: Element) -> Iterator[str]:
    """Yield the text in an element; a span that has a place of its own is a word of its own."""
    if attribute(item, "x") or attribute(item, "dy") or local(item) == "br":
        yield " "
    yield from (str(text) for text in item.itertext())


def _line(item: Element) -> str:
    return " ".join("".join(str(text) for text in item.itertext()).split())
