"""Tell tables that lay out a page from tables of data, and whether a table's first row is its head.

Where nothing says that it is, the head is left empty: names of columns are repeated over the pieces
of a long table, and stand before the cells of a row that an answer quotes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import mean

from ragkit_ingest.parse.content import Cell, Content, Table, is_layout

_DIGIT = re.compile(r"\d")
_MAX_NAME_CHARS = 40  # arbitrary: a column's name is a few words
_MIN_TEXT_CHARS = 400  # arbitrary: paragraphs of so many characters are no cell of data
_MIN_COLUMNS = 3  # tables of two columns often have names and values, and no head


def add_table(table: Table, target: Content) -> None:
    """Add a table, or what stands in it one after the other, if it has no data."""
    if is_layout(table) or (not _has_header(table) and _lays_out(table)):
        target.extend(table)
        return
    _name(table)
    texts = table.texts()
    target.table(table, texts, has_head=_is_head(table.rows[0], texts) if texts else True)


def _lays_out(table: Table) -> bool:
    rows = [row for row in table.rows if row]
    return len(rows) == 1 or any(
        len(cell.content.pieces) > 1
        and all(piece.kind == "paragraph" for piece in cell.content.pieces)
        and sum(piece.size for piece in cell.content.pieces) >= _MIN_TEXT_CHARS
        for row in rows
        for cell in row
    )


def _name(table: Table) -> None:
    """Take a first row that is one cell, as wide as the table, for what the table is called."""
    width = max((sum(cell.columns for cell in row) for row in table.rows), default=0)
    wide = [
        place
        for place, row in enumerate(table.rows)
        if len(row) == 1 and row[0].columns >= width > 1 and row[0].rows == 1
    ]
    if wide == [0] and len(table.rows) > 2:  # with others below, it names a group of rows
        table.caption.pieces += table.rows[0][0].content.pieces
        del table.rows[0]


def _has_header(table: Table) -> bool:
    return any(cell.is_header for row in table.rows for cell in row)


def _is_head(first: Sequence[Cell], texts: Sequence[Sequence[str]]) -> bool:
    """Say whether the first row names the columns: by its tags, its type, or what it says."""
    if any(cell.is_header for cell in first):
        # A row that only begins with one is named by it.
        return len(first) == 1 or all(cell.is_header for cell in first[1:])
    return all(cell.is_bold for cell in first) or _has_names(texts[0], texts[1:])


def _has_names(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Say whether cells are different in kind from those below them: words over numbers."""
    are_names = all(0 < len(name) <= _MAX_NAME_CHARS and not _DIGIT.search(name) for name in names)
    if not are_names or len(set(names)) < len(names):
        return False
    columns = [[row[n] for row in rows if n < len(row) and row[n]] for n in range(len(names))]
    if len(names) < _MIN_COLUMNS:
        return any(_is_measured(column) for column in columns)
    if any(column and all(map(_DIGIT.search, column)) for column in columns):
        return True
    cells = [cell for column in columns for cell in column]
    return len(rows) > 1 and bool(cells) and mean(map(len, names)) < mean(map(len, cells))


def _is_measured(column: Sequence[str]) -> bool:
    """Say whether a column has numbers of one kind: one unit, one number of words."""
    shapes = {re.sub(r"[\d.,]+", "0", cell) for cell in column}
    return len(column) > 1 and len(shapes) == 1 and "0" in "".join(shapes)
