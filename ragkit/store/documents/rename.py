"""Give a collection another name in every table that names it.

Documents, jobs and cut-offs refer to its number and stay as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, LiteralString

from psycopg.errors import UniqueViolation

from ragkit.errors import BusyError, UsageError

if TYPE_CHECKING:
    from ragkit.store.session import Session

# Workers that take files in go by the name until the last one is stored.
_BUSY: Final[LiteralString] = """
    SELECT count(*) FROM job WHERE tenant = %(tenant)s AND collection_id = %(collection)s
        AND state IN ('queued', 'running')
"""
_RENAME: Final[LiteralString] = """
    UPDATE collection SET name = %(new)s WHERE tenant = %(tenant)s AND id = %(collection)s
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


def rename(session: Session, collection: int, name: str, new_name: str) -> None:
    """Rename a collection that was looked up.

    Raises BusyError while files are taken into it, UsageError when another has the name.
    """
    values = {"collection": collection, "old": name, "new": new_name}
    open_jobs = session.value(_BUSY, values)
    if open_jobs:
        raise BusyError(
            f"The collection {name!r} cannot be renamed while {open_jobs} of its files are being"
            " read: try again when they are done."
        )
    try:
        session.execute(_RENAME, values)
    except UniqueViolation as error:
        raise UsageError(
            f"There is a collection {new_name!r} already: choose another name."
        ) from error
    for statement in _NAMED:
        session.execute(statement, values)
