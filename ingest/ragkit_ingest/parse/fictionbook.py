"""Parse FictionBook files (.fb2): the sections of the text, each at the top a page with its title.

Pictures, and what stands for them, are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragkit.errors import IngestError
from ragkit.types import ParsedText
from ragkit_ingest.parse.assembly import Assembly
from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.flow import Flow, Kind
from ragkit_ingest.parse.office.archive import child, local
from ragkit_ingest.parse.options import ParseOptions
from ragkit_ingest.parse.xmltree import root_of

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_KINDS: dict[str, Kind] = {
    **dict.fromkeys("p subtitle text-author cite epigraph poem stanza annotation".split(), "block"),
    "table": "table",
    "tr": "row",
    "td": "cell",
    "th": "cell",
    "image": "drop",
}
_MAX_VALUE_CHARS = 200
_NAMES = ("first", "middle", "last")


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse a book. Raises IngestError for one that is damaged or hostile."""
    root = root_of(data)
    if local(root) != "FictionBook":
        raise IngestError("parse", "not a FictionBook file, as its name says")
    info = child(root, "description", "title-info")
    assembly = Assembly()
    for page, part in enumerate(_parts(root), 1):
        assembly.page(page, _title(part))
        builder = Builder()
        flow = Flow()
        _read(part, flow, 1)
        flow.end().write(builder)
        assembly.add(builder.result())
    return assembly.result(title=_text(child(info, "book-title")), metadata=_metadata(info))


def _parts(root: Element) -> list[Element]:
    """List what stands on a page of its own: what a body begins with, and its sections."""
    parts: list[Element] = []
    annotation = child(root, "description", "title-info", "annotation")
    if annotation is not None:
        parts.append(annotation)
    for body in (item for item in root if local(item) == "body"):
        if body.get("name"):  # notes, all of them on one page
            parts.append(body)
        else:
            parts.extend(item for item in body if local(item) != "image")
    return parts


def _read(item: Element, flow: Flow, level: int) -> None:
    """Read an element; depth is bounded by the parser."""
    name = local(item)
    if name == "title":
        flow.open("heading", level=level)
        flow.text(" ".join(_text(line) for line in item))
        flow.close()
        return
    if name == "empty-line":
        return
    block = name in {"section", "body"}
    flow.open("block" if block else _KINDS.get(name, "inline"), header=name == "th")
    flow.text(item.text or "")
    for part in item:
        _read(part, flow, level + (local(part) == "section"))
        flow.text(part.tail or "")
    flow.close()
    if name == "v":  # a verse
        flow.line_break()


def _title(part: Element) -> str:
    title = part if local(part) == "title" else child(part, "title")
    return " ".join(_text(line) for line in title) if title is not None else ""


def _metadata(info: Element | None) -> dict[str, str]:
    """Read the authors, the date and the language."""
    authors = [
        " ".join(filter(None, (_text(child(item, f"{name}-name")) for name in _NAMES)))
        for item in (info if info is not None else ())
        if local(item) == "author"
    ]
    date = child(info, "date")
    values = {
        "author": ", ".join(filter(None, authors)),
        "created": (date.get("value") or _text(date)) if date is not None else "",
        "book_language": _text(child(info, "lang")),
    }
    return {key: value[:_MAX_VALUE_CHARS] for key, value in values.items() if value}


def _text(item: Element | None) -> str:
    return " ".join("".join(map(str, item.itertext())).split()) if item is not None else ""
