"""Parse PDFs: pages, lines in pdfium's reading order joined to paragraphs, the outline as headings.

What is only a picture stays unread, and tables come as their lines. It knows nothing of layout
beyond where lines begin and end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragkit.errors import IngestError
from ragkit.types import ParsedText
from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.options import ParseOptions
from ragkit_ingest.parse.pdflines import Line, lines
from ragkit_ingest.parse.pdfparagraphs import key, paragraphs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pypdfium2 import PdfDocument

NO_TEXT = "no text layer: probably a scan, which needs OCR first"
_PASSWORD = 4  # FPDF_ERR_PASSWORD
_SECURITY = 5  # FPDF_ERR_SECURITY, an unknown kind of encryption
_MAX_OUTLINE = 20_000
_MAX_HEADING_CHARS = 300


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse a PDF. Raises IngestError for one that is encrypted or damaged."""
    import pypdfium2

    if b"%PDF-" not in data[:4096]:
        raise IngestError("parse", "not really a PDF")
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise IngestError("parse", _refusal(error.err_code, data)) from error
    try:
        return _read(document)
    finally:
        document.close()


def _refusal(code: int | None, data: bytes) -> str:
    if code == _PASSWORD:
        return "encrypted: it needs a password"
    if code == _SECURITY:
        return "encrypted in a way that cannot be read"
    return "truncated PDF" if b"%%EOF" not in data[-4096:] else "damaged PDF"


def _read(document: PdfDocument) -> ParsedText:
    import pypdfium2

    builder = Builder()
    outline: dict[int, dict[str, int]] = {}
    for place, name, level in _outline(document):
        outline.setdefault(place, {})[name] = level
    unreadable = 0
    for index in range(len(document)):
        try:
            page = document[index]
        except pypdfium2.PdfiumError:
            unreadable += 1
            continue
        builder.page(index + 1)
        _page(lines(page), outline.get(index, {}), builder)
        page.close()
    if unreadable and unreadable == len(document):
        raise IngestError("parse", "damaged PDF: none of its pages can be read")
    metadata = document.get_metadata_dict(skip_empty=True)
    author = metadata.get("Author", "").strip()
    return builder.result(
        title=metadata.get("Title", ""), metadata={"author": author[:200]} if author else {}
    )


def _page(found: list[Line], headings: dict[str, int], builder: Builder) -> None:
    for text in paragraphs(found, frozenset(headings)):
        level = headings.get(key(text)) if len(text) <= _MAX_HEADING_CHARS else None
        if level is None:
            builder.paragraph(text)
        else:
            builder.heading(level, text, mark=False)


def _outline(document: PdfDocument) -> Iterator[tuple[int, str, int]]:
    """Give the outline's entries as (page index, title's key, level)."""
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
