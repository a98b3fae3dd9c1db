"""Citations and first values of rows."""

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
    assert row is not None, "the statement always has a row"
    return row[0]


def kept_citations(
    values: Sequence[Mapping[str, Any]], hidden: Collection[int]
) -> tuple[Citation, ...]:
    """Make citations of their JSON, without those of documents that are hidden from the reader.

    A citation from before citations had headings has none.
    """
    return tuple(
        Citation(**{**value, "headings": tuple(value.get("headings", ()))})
        for value in values
        if value["document"] not in hidden
    )
