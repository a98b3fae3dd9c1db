"""A database that is away for a while: telling it from what is wrong, and how long to wait for it.

It knows nothing of what is done with the database.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import psycopg

from ragkit.errors import DatabaseError

# What a database's absence is raised as, among other things.
AWAY: Final = (DatabaseError, psycopg.OperationalError, psycopg.InterfaceError)

# Connection exceptions, and a server that shuts down, crashes or is just starting: see PostgreSQL's
# table of error codes.
_ABSENT: Final = ("08", "57P")
_FIRST_WAIT_S: Final = 0.2
_LONGEST_WAIT_S: Final = 5.0  # doubled up to this
_WAITED_S: Final = 60.0  # arbitrary: a server that is restarted is back in less


def is_away(error: Exception) -> bool:
    """Tell whether an error is the database's absence, which may be over soon.

    A full disk is none, nor is anything else that the server itself says of a statement.
    """
    found: Any = error.__cause__ if isinstance(error, DatabaseError) else error
    if not isinstance(found, psycopg.OperationalError | psycopg.InterfaceError):
        return False
    return found.sqlstate is None or found.sqlstate.startswith(_ABSENT)


def waits_s() -> Iterator[float]:
    """Yield how long to wait before each try, until about a minute is over.

    >>> [wait for _, wait in zip(range(6), waits_s())]
    [0.2, 0.4, 0.8, 1.6, 3.2, 5.0]
    """
    wait = _FIRST_WAIT_S
    waited = 0.0
    while waited < _WAITED_S:
        yield wait
        waited += wait
        wait = min(2 * wait, _LONGEST_WAIT_S)
