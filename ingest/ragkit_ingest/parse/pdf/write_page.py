"""Write a page's lines to a builder: tables, headings of the outline, paragraphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.pdf.hyphens import Words
from ragkit_ingest.parse.pdf.lines import Line
from ragkit_ingest.parse.pdf.paragraphs import key, paragraphs

_MAX_HEADING_CHARS = 300


def write(
    lines: Sequence[Line], headings: Mapping[str, int], words: Words, builder: Builder
) -> None:
    """Write lines that come in reading order; `headings` maps titles' keys to their levels."""
    for is_table, group in groupby(lines, lambda line: bool(line.rows)):
        if is_table:
            for table in group:
                builder.table(table.rows)
            continue
        for text in paragraphs(list(group), frozenset(headings), words):
            level = headings.get(key(text)) if len(text) <= _MAX_HEADING_CHARS else None
            if level is None:
                builder.paragraph(text)
            else:
                builder.heading(level, text, mark=False)


def words_of(pages: Sequence[Sequence[Line]]) -> Words:
    """Collect a document's words where there is a hyphen at a line's end to ask them about."""
    ends = any(line.text.endswith(("-", "‐")) for page in pages for line in page)
    return Words(line.text for page in pages for line in page) if ends else Words()
