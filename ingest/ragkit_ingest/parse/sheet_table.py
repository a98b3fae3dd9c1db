"""Write a sheet's table below what stands above its head: titles, units, dates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ragkit_ingest.parse.builder import Builder

_MIN_COLUMNS: Final = 3  # in two, a single cell may be a head whose second one is empty
_MAX_LABELS: Final = 10  # rows; arbitrary: more are no title


def write_rows(rows: Sequence[Sequence[str]], builder: Builder) -> None:
    """Write rows as a table, and single cells in the rows above a wide table's head before it."""
    labels: list[str] = []
    count = 0
    for row in rows[: _MAX_LABELS + 1]:
        cells = [cell.strip() for cell in row if cell.strip()]
        if len(cells) > 1:
            break
        labels += cells
        count += 1
    head = next(iter(rows[count : count + 1]), ())
    if count > _MAX_LABELS or len(head) < _MIN_COLUMNS or not labels:
        builder.table(rows)
        return
    for label in labels:
        builder.paragraph(label)
    builder.table(rows[count:])
