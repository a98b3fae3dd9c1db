"""Writes done again that the server gave up so that others, who were in each other's way, could go
on: PostgreSQL asks its users to, for nothing of such a transaction was kept.

It knows nothing of what is written.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

import psycopg

from ragkit.errors import DatabaseError

P = ParamSpec("P")
R = TypeVar("R")

CONFLICTS: Final = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)
TRIES: Final = 5  # arbitrary: of those in each other's way all but one go on each time
log = logging.getLogger(__name__)


def again_after_conflicts(write: Callable[P, R]) -> Callable[P, R]:
    """Call a function of one transaction anew when the server gave it up; the last error is raised.

    Whoever waited is given up after the server's deadlock_timeout, one second by default, so no
    wait is added.
    """

    @functools.wraps(write)
    def tried(*args: P.args, **named: P.kwargs) -> R:
        for _ in range(TRIES - 1):
            try:
                return write(*args, **named)
            except DatabaseError as error:
                if not isinstance(error.__cause__, CONFLICTS):
                    raise
                log.info("%s is done again: %s", write.__name__, type(error.__cause__).__name__)
        return write(*args, **named)

    return tried
