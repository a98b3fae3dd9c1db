"""The first value of a statement that always has a row: a count, an id, a yes or no."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
