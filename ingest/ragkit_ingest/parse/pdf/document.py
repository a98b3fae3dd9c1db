"""Parse PDFs: lines in reading order joined to paragraphs, ruled and aligned tables, the outline as
headings; headers and footers are left out, and pages without a text layer read by OCR.

It puts the pieces together; how each is found stands in the modules beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ragkit.errors import IngestError
from ragkit.types import ParsedText
from ragkit_ingest.parse import ocr
from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.options import ParseOptions
from ragkit_ingest.parse.pdf.aligned import with_aligned
from ragkit_ingest.parse.pdf.bands import with_banded
from ragkit_ingest.parse.pdf.columns import in_reading_order
from ragkit_ingest.parse.pdf.fields import fields, open_form
from ragkit_ingest.parse.pdf.furniture import furniture
from ragkit_ingest.parse.pdf.headed import with_headed
from ragkit_ingest.parse.pdf.headings import headings
from ragkit_ingest.parse.pdf.lines import Line
from ragkit_ingest.parse.pdf.meta import label, metadata, outline, title
from ragkit_ingest.parse.pdf.page_text import PageText
from ragkit_ingest.parse.pdf.paragraphs import key
from ragkit_ingest.parse.pdf.rules import rules
from ragkit_ingest.parse.pdf.scan import is_drawn, is_picture, picture
from ragkit_ingest.parse.pdf.tables import with_tables
from ragkit_ingest.parse.pdf.write_page import words_of, write

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage

NO_TEXT = "no text in it: its pages are blank"
_PASSWORD = 4  # FPDF_ERR_PASSWORD
_SECURITY = 5  # FPDF_ERR_SECURITY, an unknown kind of encryption
_MAX_UNREADABLE = 1000  # arbitrary; a damaged page tree can claim millions
_UNREADABLE = f"damaged PDF: more than {_MAX_UNREADABLE} of its pages cannot be read"
_FEW_CHARS = 200  # arbitrary; a page of more is no scan with a stamp on it


@dataclass(frozen=True)
class _Page:
    """A page as it was read: its lines in reading order, whether anything at all is on it, and
    whether that may be the picture of a text."""

    index: int
    height: float
    lines: list[Line]
    is_drawn: bool
    is_picture: bool


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse a PDF. Raises IngestError for one that is encrypted, damaged or a scan without OCR."""
    import pypdfium2

    if b"%PDF-" not in data[:4096]:
        raise IngestError("parse", "not really a PDF")
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise IngestError("parse", _refusal(error.err_code, data)) from error
    try:
        if options.pdf_layout == "docling":
            from ragkit_ingest.parse.pdf import docling

            return docling.parse(data, metadata(document), title(document))
        open_form(document)
        return _read(document, options)
    finally:
        document.close()


def _refusal(code: int | None, data: bytes) -> str:
    if code == _PASSWORD:
        return "encrypted: it needs a password"
    if code == _SECURITY:
        return "encrypted in a way that cannot be read"
    return "truncated PDF" if b"%%EOF" not in data[-4096:] else "damaged PDF"


def _read(document: PdfDocument, options: ParseOptions) -> ParsedText:
    notes: Counter[str] = Counter()
    pages = list(_pages(document, notes))
    if len(document) and not pages:
        raise IngestError("parse", "damaged PDF: none of its pages can be read")
    texts = _without_furniture(pages, Counter())
    scans = [page.index for page in texts if page.is_picture and not page.lines]
    if scans and options.ocr == "auto" and ocr.is_installed():
        read = dict(_by_ocr(document, scans))
        notes["pages read by OCR"] += sum(map(bool, read.values()))
        pages = [replace(page, lines=read.get(page.index) or page.lines) for page in pages]
    if scans or any(page.lines for page in texts):  # else all of its text would be furniture
        pages = _without_furniture(pages, notes)
    notes["pages without text"] += sum(page.is_drawn and not page.lines for page in pages)
    if scans and not any(page.lines for page in pages):
        raise IngestError("parse", _scan(options))
    return _written(document, pages, notes)


def _scan(options: ParseOptions) -> str:
    """Say what to do about a document that is pictures alone."""
    if options.ocr == "off":
        return "no text layer: a scan, and OCR is switched off (RAGKIT_OCR=auto reads it)"
    if not ocr.is_installed():
        return f"no text layer: a scan, which needs OCR: {ocr.REMEDY}"
    return "no text layer, and OCR found no text in its pictures"


def _pages(document: PdfDocument, notes: Counter[str]) -> Iterator[_Page]:
    """Read the pages' text layers; those that cannot be read are counted."""
    import pypdfium2

    for index in range(len(document)):
        try:
            page = document[index]
            try:
                yield _page(document, page, index)
            finally:
                page.close()
        except pypdfium2.PdfiumError as error:
            notes["unreadable pages"] += 1
            if notes["unreadable pages"] > _MAX_UNREADABLE:
                raise IngestError("parse", _UNREADABLE) from error


def _page(document: PdfDocument, page: PdfPage, index: int) -> _Page:
    with closing(PageText(page)) as text:
        page_lines = text.lines()
        page_lines += fields(document, page, text.turn)
        level, upright = rules(page, text.turn) if page_lines else ([], [])
        page_lines = with_tables(page_lines, level, upright, text.cut)
    page_lines = with_headed(with_banded(page_lines, level, upright))
    page_lines = with_aligned(in_reading_order(page_lines))
    has_table = any(line.rows for line in page_lines)
    is_sparse = sum(len(line.text) for line in page_lines) < _FEW_CHARS and not has_table
    return _Page(
        index,
        page.get_height(),
        [replace(line, gaps=()) for line in page_lines],
        is_drawn=bool(page_lines) or is_drawn(page),
        is_picture=is_sparse and is_picture(page),
    )


def _without_furniture(pages: Sequence[_Page], notes: Counter[str]) -> list[_Page]:
    """Leave out headers and footers, and count them."""
    out = furniture([page.lines for page in pages], [page.height for page in pages])
    notes["headers and footers"] += len(out)
    return [
        replace(
            page,
            lines=[line for n, line in enumerate(page.lines) if (place, n) not in out],
        )
        for place, page in enumerate(pages)
    ]


def _by_ocr(document: PdfDocument, scans: Sequence[int]) -> Iterator[tuple[int, list[Line]]]:
    """Read pages by OCR: each one's index, and its lines in reading order."""
    reader = ocr.Reader(len(scans))
    for index in scans:
        page = document[index]
        try:
            recognised = reader.read(picture(page))
        finally:
            page.close()
        yield index, with_aligned(in_reading_order(recognised))


def _written(document: PdfDocument, pages: Sequence[_Page], notes: Counter[str]) -> ParsedText:
    builder = Builder()
    titles = outline(document)
    page_lines = [page.lines for page in pages]
    words = words_of(page_lines)
    by_font = {} if _is_outlined(pages, titles) else headings(page_lines)
    for place, page in enumerate(pages):
        if page.lines:
            builder.page(page.index + 1)
        places = {line: heading for (at, line), heading in by_font.items() if at == place}
        write(page.lines, titles.get(page.index, {}), words, builder, places)
    parsed = builder.result(title=title(document), metadata=metadata(document))
    labelled = tuple(replace(p, label=label(document, p.number - 1)) for p in parsed.pages)
    return replace(parsed, pages=labelled, notes={kind: n for kind, n in notes.items() if n})


def _is_outlined(pages: Sequence[_Page], titles: Mapping[int, Mapping[str, int]]) -> bool:
    """Say whether the outline names a line of a page; some only count the pages."""
    return any(
        key(line.text) in titles[page.index]
        for page in pages
        if page.index in titles
        for line in page.lines
    )
