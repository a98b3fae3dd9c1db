"""Another name for a collection, in every table that names it.

Documents, jobs and cut-offs belong to its number and stay as they are.
"""

from __future__ import annotations

from typing import Any, Final, LiteralString

from psycopg import Cursor
from psycopg.errors import UniqueViolation

from ragkit.errors import BusyError, UsageError

# Whoever takes files in goes by the name until the last one is stored.
_BUSY: Final[LiteralString] = """
    SELECT count(*) FROM job WHERE tenant = %s AND collection_id = %s
        AND state IN ('queued', 'running')
"""
_RENAME: Final[LiteralString] = """
    UPDATE collection SET name = %(new)s WHERE tenant = %(tenant)s AND id = %(id)s
"""
_NAMED: Final[tuple[LiteralString, ...]] = (
    "UPDATE conversation SET collection = %(new)s"
    " WHERE tenant = %(tenant)s AND collection = %(old)s",
    "UPDATE kept_answer SET collection = %(new)s"
    " WHERE tenant = %(tenant)s AND collection = %(old)s",
    "UPDATE feedback SET collection = %(new)s WHERE tenant = %(tenant)s AND collection = %(old)s",
    # Keys and log-ins that are for some collections go on being for this one.
    "UPDATE access_key SET collections = array_replace(collections, %(old)s, %(new)s)"
    " WHERE tenant = %(tenant)s AND %(old)s = ANY(collections)",
    "UPDATE login SET collections = array_replace(collections, %(old)s, %(new)s)"
    " WHERE tenant = %(tenant)s AND %(old)s = ANY(collections)",
)


def rename(cursor: Cursor[Any], tenant: str, collection: int, old: str, new: str) -> None:
    """Rename a collection whose row is looked up by its number.

    Raises BusyError while files are taken into it, UsageError when another has the name.
    """
    row = cursor.execute(_BUSY, (tenant, collection)).fetchone()
    assert row is not None, "a count is one row"
    if row[0]:
        raise BusyError(
            f"The collection {old!r} cannot be renamed while {row[0]} of its files are being read:"
            " try again when they are done."
        )
    values = {"tenant": tenant, "id": collection, "old": old, "new": new}
    try:
        cursor.execute(_RENAME, values)
    except UniqueViolation as error:
        raise UsageError(f"There is a collection {new!r} already: choose another name.") from error
    for statement in _NAMED:
        cursor.execute(statement, values)
