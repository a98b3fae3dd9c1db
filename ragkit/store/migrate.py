"""Bring a database's schema up to date by numbered SQL files, each exactly once.

Knows nothing of what is in the files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any, Final

from ragkit.errors import MigrationError

if TYPE_CHECKING:
    from psycopg import Connection, Error

LOCK: Final = 0x7261676B6974  # "ragkit"; an advisory lock counts within one database
_APPLIED: Final = "SELECT number, name, sha256 FROM ragkit_migration ORDER BY number"
_TABLE: Final = """
    CREATE TABLE IF NOT EXISTS ragkit_migration (
        number     integer     PRIMARY KEY,
        name       text        NOT NULL,
        sha256     text        NOT NULL,
        applied_at timestamptz NOT NULL DEFAULT now()
    )
"""
_RECORD: Final = "INSERT INTO ragkit_migration (number, name, sha256) VALUES (%s, %s, %s)"


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema: a file named NNNN_name.sql."""

    number: int
    name: str
    sql: bytes

    @property
    def sha256(self) -> str:
        return sha256(self.sql).hexdigest()


def migrate(conn: Connection[Any], folder: Traversable | None = None) -> list[str]:
    """Apply the files that this database has not had yet, in order; return their names.

    Each file is one transaction together with its row in ragkit_migration, under an advisory lock
    that ends with it. Several processes at once share the work; a killed one leaves whole steps.
    When nothing is to be done this costs one SELECT. Needs a connection in autocommit mode.

    Raises MigrationError when a step fails, when the database is newer than this program, or when
    it was made by other files.
    """
    import psycopg

    assert conn.autocommit
    steps = _read(files("ragkit.store") / "migrations" if folder is None else folder)
    names: list[str] = []
    try:
        while (step := _next(conn, steps)) is not None:
            if _apply(conn, step, steps):
                names.append(step.name)
    except psycopg.Error as error:
        raise MigrationError(
            f"The database's tables cannot be brought up to date: {_line(error)}: run it again."
        ) from error
    return names


def is_current(conn: Connection[Any]) -> bool:
    """Tell whether the schema is this program's; one that may not be read is not.

    Raises MigrationError for one that it cannot become.
    """
    import psycopg

    try:
        return _next(conn, _read(files("ragkit.store") / "migrations")) is None
    except psycopg.errors.InsufficientPrivilege:
        return False
    except psycopg.Error as error:
        raise MigrationError(
            f"The database does not say which tables it has: {_line(error)}: try it again."
        ) from error


def last_step() -> int:
    """Return the number of this program's last step, which is also how many there are."""
    return _read(files("ragkit.store") / "migrations")[-1].number


def _read(folder: Traversable) -> list[Migration]:
    """Read the files in order; their numbers count from 1 without a gap."""
    found = [
        Migration(int(match[1]), match[0], file.read_bytes())
        for file in folder.iterdir()
        if (match := re.fullmatch(r"(\d{4})_\w+\.sql", file.name))
    ]
    found.sort(key=lambda migration: migration.number)
    if not found or [migration.number for migration in found] != list(range(1, len(found) + 1)):
        raise MigrationError(f"The schema's files in {folder} are incomplete: install ragkit anew.")
    return found


def _next(conn: Connection[Any], steps: list[Migration]) -> Migration | None:
    """Return the first step that has not been applied, having checked those that have."""
    import psycopg

    try:
        applied = conn.execute(_APPLIED).fetchall()
    except psycopg.errors.UndefinedTable:
        applied = []
    for (number, name, digest), step in zip(applied, steps, strict=False):
        if (number, digest) != (step.number, step.sha256):
            raise MigrationError(
                f"The database was made by another {name} than this ragkit's {step.name}: use the"
                " ragkit that made it, or a new database."
            )
    if len(applied) > len(steps):
        raise MigrationError(
            f"The database is newer than this ragkit: it has {applied[-1][1]}, and this ragkit's"
            f" last step is {steps[-1].name}: upgrade ragkit."
        )
    return steps[len(applied)] if len(applied) < len(steps) else None


def _apply(conn: Connection[Any], step: Migration, steps: list[Migration]) -> bool:
    """Apply one step, unless another process has done so while we waited for our turn."""
    import psycopg

    with conn.transaction():
        conn.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        conn.execute("SET LOCAL ragkit.all_tenants = 'on'")  # a step may change their rows
        try:
            conn.execute(_TABLE)
            if _next(conn, steps) != step:
                return False
            conn.execute(step.sql)
            conn.execute(_RECORD, (step.number, step.name, step.sha256))
        except psycopg.errors.InsufficientPrivilege as error:
            raise MigrationError(
                f"{step.name} needs more rights: {_line(error)}: have the database's owner run"
                " CREATE EXTENSION vector, and GRANT CREATE ON SCHEMA public to this user."
            ) from error
        except psycopg.OperationalError:  # the server went, or the disk is full: not the step
            raise
        except psycopg.Error as error:
            raise MigrationError(
                f"{step.name} failed, and nothing of it was applied: {_line(error)}: mend what it"
                " names, then run it again."
            ) from error
    return True


def _line(error: Error) -> str:
    """Take the message without the context that PostgreSQL adds in further lines."""
    text = error.diag.message_primary or str(error).partition("\n")[0]
    return text.strip() or type(error).__name__
