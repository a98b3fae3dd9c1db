"""The documents that reading is measured on: files with their expected Markdown, and PDFs of it.

The PDFs are printed here from expected Markdown, by Debian's Chromium, untagged, so that their
text, its order, cells and headings are known; they show no more variety than one program's layout.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.data import data
from benchmarks.reading_markdown import Reading, read_markdown
from benchmarks.reading_measures import cell_places

FORMATS: Final = ("html", "md", "docx", "pptx", "xlsx", "csv", "asciidoc", "epub")
PRINTED_FROM: Final = ("html", "md", "docx", "pptx", "xlsx")  # the tables of csv are too wide
PRINTED_WORDS: Final = 30  # fewest in a printed document: of fewer, no layout is to be seen
CHROMIUM: Final = Path("/usr/bin/chromium")
_RULED: Final = "table { border-collapse: collapse } td, th { border: 0.5pt solid black }"
_COLUMNS: Final = "body { column-count: 2; column-gap: 8mm } "
ONE, TWO, BARE = "pdf, one column", "pdf, two columns", "pdf, tables without rules"
LAYOUTS: Final = {ONE: _RULED, TWO: _COLUMNS + _RULED, BARE: "table { border-collapse: collapse }"}
NARROW: Final = 4  # columns of a table that fit into half a page
# Tables stand apart, as paragraphs do, and their head is printed once, as in the Markdown.
_STYLE: Final = (
    "body { font: 10.5pt serif; overflow-wrap: break-word } pre { white-space: pre-wrap } "
    "table { margin: 1em 0 } thead { display: table-row-group } "
    "tr { break-inside: avoid } "
    "td, th { padding: 2pt 8pt; text-align: left }"
)


@dataclass(frozen=True, slots=True)
class Document:
    """A file to read, the Markdown that is expected of it, and what that says."""

    kind: str
    path: Path
    markdown: str
    expected: Reading


def documents(folder: Path) -> list[Document]:
    """Return all documents, kind by kind; those that are printed are written into `folder`."""
    real = [document for kind in FORMATS for document in _real(kind)]
    return [*real, *_printed(real, folder)]


def _real(kind: str) -> Iterator[Document]:
    """Yield a format's files of which the expected Markdown is known."""
    place = data() / "documents"
    for path in sorted((place / kind).iterdir()):
        expected = place / "expected" / kind / f"{path.name}.md"
        if expected.is_file():
            yield _document(kind, path, expected.read_text(encoding="utf-8"))


def _document(kind: str, path: Path, markdown: str) -> Document:
    return Document(kind, path, markdown, read_markdown(markdown))


def _printed(real: list[Document], folder: Path) -> list[Document]:
    """Print documents in each layout."""
    from playwright.sync_api import sync_playwright

    if not CHROMIUM.exists():
        raise SystemExit(f"there is no {CHROMIUM} to print PDFs with: apt-get install chromium")
    printed = []
    with sync_playwright() as playwright:
        sandbox = [] if os.getuid() else ["--no-sandbox"]
        chromium = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--disable-gpu", *sandbox]
        )
        page = chromium.new_context(java_script_enabled=False, offline=True).new_page()
        for number, (layout, style) in enumerate(LAYOUTS.items(), start=1):
            for document in (document for document in real if is_printed(document, layout)):
                path = folder / f"{number}-{document.path.name}.pdf"
                page.set_content(_page(document.markdown, style))
                margin = dict.fromkeys(("top", "right", "bottom", "left"), "20mm")
                page.pdf(path=path, format="A4", margin=margin, tagged=False, outline=False)
                printed.append(_document(layout, path, document.markdown))
        chromium.close()
    return printed


def is_printed(document: Document, layout: str) -> bool:
    """Say whether a layout shows something of a document, and has room for it.

    Too short texts are left out, formulas, which would be printed as LaTeX, wide tables in two
    columns, and what has no table where rules are missed.
    """
    if document.kind not in PRINTED_FROM or "$$" in document.markdown:
        return False
    tables = document.expected.tables
    if layout == TWO and any(len(row) > NARROW for table in tables for row in table):
        return False
    if layout == BARE and not cell_places(tables):
        return False
    return len(document.expected.words) >= PRINTED_WORDS


def _page(markdown: str, style: str) -> str:
    """Render Markdown as a web page in a layout."""
    from markdown_it import MarkdownIt

    body = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown)
    return f"<!DOCTYPE html><meta charset='utf-8'><style>{_STYLE} {style}</style><body>{body}"
