"""Which errors are a database's absence, and how long it is waited for."""

import psycopg
import pytest

from ragkit.errors import DatabaseError
from ragkit_ingest.run.outage import is_away, waits_s


def caused(cause: Exception) -> DatabaseError:
    error = DatabaseError("the database cannot be reached")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        psycopg.OperationalError("the connection is closed"),
        psycopg.InterfaceError("the connection is lost"),
        psycopg.errors.AdminShutdown("terminating connection"),
        psycopg.errors.CannotConnectNow("the database system is starting up"),
        caused(psycopg.OperationalError("connection refused")),
    ],
)
def test_absence(error: Exception) -> None:
    assert is_away(error)


@pytest.mark.parametrize(
    "error",
    [
        psycopg.errors.DiskFull("No space left on device"),
        psycopg.errors.UniqueViolation("duplicate key"),
        caused(psycopg.errors.DiskFull("No space left on device")),
        DatabaseError("pgvector is missing"),
    ],
)
def test_what_waiting_does_not_mend(error: Exception) -> None:
    assert not is_away(error)


def test_it_is_waited_for_about_a_minute() -> None:
    waits = list(waits_s())
    assert waits[:3] == [0.2, 0.4, 0.8]
    assert max(waits) == 5.0
    assert 60 <= sum(waits) < 66
