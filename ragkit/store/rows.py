"""What rows hold: the first value of a statement that always has a row; citations, kept as JSON."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ragkit.types import Citation

if TYPE_CHECKING:
    from psycopg import Cursor
    from psycopg.abc import Params, QueryNoTemplate


def first_value(
    cursor: Cursor[Any], statement: QueryNoTemplate, values: Params | None = None
) -> Any:
    """Execute a statement and return the first value of its first row, as PostgreSQL gives it."""
    row = cursor.execute(statement, values).fetchone()
    assert row is not None, "the statement has a row, whatever there is"
    return row[0]


def kept_citations(
    kept: Sequence[Mapping[str, Any]], hidden: Collection[int]
) -> tuple[Citation, ...]:
    """Make citations of their JSON, without those of documents that are hidden from the reader.

    What was kept before citations had headings has none.
    """
    return tuple(
        Citation(**{**one, "headings": tuple(one.get("headings", ()))})
        for one in kept
        if one["document"] not in hidden
    )
