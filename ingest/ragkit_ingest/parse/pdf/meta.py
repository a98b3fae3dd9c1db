"""Metadata of a PDF: dates in ISO 8601, page labels, outline."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from ragkit_ingest.parse.pdf.paragraphs import key
from ragkit_ingest.parse.titles import is_title

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

_MAX_OUTLINE = 20_000
_MAX_LABEL_BYTES = 200  # arbitrary; a label is a number or a word
_MAX_AUTHOR_CHARS = 200
# ISO 32000-2, 7.9.4: all after the year may be missing
_DATE = re.compile(
    r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:([Zz+-])(?:(\d\d)(?:'?(\d\d))?)?)?"
)


def metadata(document: PdfDocument) -> dict[str, str]:
    """Give the author and the dates, as far as the document has them."""
    properties = document.get_metadata_dict(skip_empty=True)
    metadata_ = {
        "author": " ".join(properties.get("Author", "").split())[:_MAX_AUTHOR_CHARS],
        "created": date(properties.get("CreationDate", "")),
        "modified": date(properties.get("ModDate", "")),
    }
    return {name: value for name, value in metadata_.items() if value}


def title(document: PdfDocument) -> str:
    """Give the title that a document has in its properties; "" for none and for a program's."""
    text = str(document.get_metadata_dict(skip_empty=True).get("Title", ""))
    return text if is_title(text) else ""


def date(text: str) -> str:
    """Write a PDF's date in ISO 8601, as far as it goes; "" for what is none.

    >>> date("D:20200402153000+09'00'")
    '2020-04-02T15:30:00+09:00'
    >>> date("D:2020")
    '2020'
    """
    match = _DATE.match(text.strip())
    if not match:
        return ""
    parts = [int(part) for part in match.groups()[:6] if part is not None]
    sign, hours, minutes = match.group(7), int(match.group(8) or 0), int(match.group(9) or 0)
    offset = timedelta(hours=hours, minutes=minutes) * (-1 if sign == "-" else 1)
    try:
        zone = timezone(offset) if sign else None
        moment = datetime(*[*parts, 1, 1][: max(len(parts), 3)], tzinfo=zone)  # type: ignore[misc,arg-type]
    except ValueError:
        return ""  # no such day, or no such zone
    if len(parts) < 4:
        return moment.date().isoformat()[: (4, 7, 10)[len(parts) - 1]]
    return moment.isoformat()


def label(document: PdfDocument, index: int) -> str:
    """Give what a page is called where that is not its number; "" otherwise."""
    from ctypes import create_string_buffer

    from pypdfium2 import raw

    buffer = create_string_buffer(_MAX_LABEL_BYTES)
    size = raw.FPDF_GetPageLabel(document.raw, index, buffer, _MAX_LABEL_BYTES)
    if not 2 < size <= _MAX_LABEL_BYTES:
        return ""
    text = " ".join(buffer.raw[: size - 2].decode("utf-16-le", "replace").split())
    return "" if text == str(index + 1) else text


def outline(document: PdfDocument) -> dict[int, dict[str, int]]:
    """Give the outline's entries by page: the key of each title, and its level."""
    entries: dict[int, dict[str, int]] = {}
    for place, name, level in _entries(document):
        entries.setdefault(place, {})[name] = level
    return entries


def _entries(document: PdfDocument) -> Iterator[tuple[int, str, int]]:
    import pypdfium2

    try:
        for place, entry in enumerate(document.get_toc()):
            target = entry.get_dest()
            page = target.get_index() if target else None
            name = key(entry.get_title())
            if page is not None and name:
                yield page, name, min(entry.level + 1, 6)
            if place >= _MAX_OUTLINE:
                return
    except pypdfium2.PdfiumError:
        return  # a broken outline costs headings, not text
