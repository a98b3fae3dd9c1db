"""Write a page's lines to a builder: tables, headings, paragraphs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.pdf.headings import Heading
from ragkit_ingest.parse.pdf.hyphens import Words, are_broken
from ragkit_ingest.parse.pdf.lines import Line
from ragkit_ingest.parse.pdf.paragraphs import (
    is_broken_cell,
    join,
    key,
    paragraphs,
    whole_words,
    without_leaders,
)

_MAX_HEADING_CHARS = 300


def write(
    lines: Sequence[Line],
    titles: Mapping[str, int],
    words: Words,
    builder: Builder,
    headings: Mapping[int, Heading] | None = None,
) -> None:
    """Write lines that come in reading order.

    `titles` maps the keys of the outline's titles to their levels, `headings` the place of a line
    to the heading that begins there.
    """
    for heading, part in _parts(lines, headings or {}):
        if heading:
            text = part[0].text
            for line in part[1:]:
                text = join(text, line.text, words.unbroken())
            builder.heading(heading.level, text, mark=False)
        else:
            _write_text(part, titles, words, builder)


def _parts(
    lines: Sequence[Line], headings: Mapping[int, Heading]
) -> Iterator[tuple[Heading | None, Sequence[Line]]]:
    begin = 0
    for place in sorted(headings):
        heading = headings[place]
        if begin < place:
            yield None, lines[begin:place]
        begin = place + heading.lines
        yield heading, lines[place:begin]
    if begin < len(lines):
        yield None, lines[begin:]


def _write_text(
    lines: Sequence[Line], titles: Mapping[str, int], words: Words, builder: Builder
) -> None:
    for is_table, group in groupby(lines, lambda line: bool(line.rows)):
        if is_table:
            for table in group:
                builder.table([[whole_words(cell, words) for cell in row] for row in table.rows])
            continue
        for text in paragraphs(list(group), frozenset(titles), words):
            level = titles.get(key(text)) if len(text) <= _MAX_HEADING_CHARS else None
            if level is None:
                builder.paragraph(without_leaders(text))
            else:
                builder.heading(level, text, mark=False)


def words_of(pages: Sequence[Sequence[Line]]) -> Words:
    """Collect a document's words where there is a hyphen at a line's end to ask them about."""
    if not any(_has_hyphen(line) for page in pages for line in page):
        return Words()
    return Words((line.text for page in pages for line in page), are_broken=are_broken(pages))


def _has_hyphen(line: Line) -> bool:
    has_cell = any(is_broken_cell(cell) for row in line.rows for cell in row)
    return has_cell or line.text.endswith(("-", "‐"))
