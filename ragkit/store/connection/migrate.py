"""Bring a database's schema up to date: schema.sql first, then numbered files, each once.

Migrations begin with the first release: files migrations/NNNN_name.sql, from number 2 on. A
database of the last step before schema.sql is upgraded by upgrade_from_prerelease.sql.
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
_PACKAGE: Final = "ragkit.store"
_SCHEMA: Final = "schema.sql"
_UPGRADE: Final = "upgrade_from_prerelease.sql"
# The numbered files that schema.sql took the place of: the first, and the last, which is upgraded.
_PRERELEASE_FIRST: Final = "0001_base.sql"
_PRERELEASE_LAST: Final = "0019_document_bytes.sql"
_APPLIED: Final = "SELECT number, name, sha256 FROM ragkit_migration ORDER BY number"
_TABLE: Final = """
    CREATE TABLE IF NOT EXISTS ragkit_migration (
        number     integer     PRIMARY KEY,
        name       text        NOT NULL,
        sha256     text        NOT NULL,
        applied_at timestamptz NOT NULL DEFAULT now()
    )
"""
_FORGET: Final = "DELETE FROM ragkit_migration"
_RECORD: Final = "INSERT INTO ragkit_migration (number, name, sha256) VALUES (%s, %s, %s)"


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema: schema.sql, or a file named NNNN_name.sql.

    `upgrade` is the script that a database from before the first step is brought to it by.
    """

    number: int
    name: str
    sql: bytes
    upgrade: bytes | None = None

    @property
    def sha256(self) -> str:
        return sha256(self.sql).hexdigest()


def migrate(conn: Connection[Any], folder: Traversable | None = None) -> list[str]:
    """Apply the steps that this database has not had yet, in order; return the names of the files.

    Each step is one transaction together with its row in ragkit_migration, under an advisory lock
    that ends with it. Several processes at once share the work; a killed one leaves complete steps.
    When nothing is to be done this costs one SELECT. Needs a connection in autocommit mode.
    `folder` has numbered files in the place of ragkit's own.

    Raises MigrationError when a step fails, when the database is newer than this program, or when
    it was made by other files.
    """
    import psycopg

    assert conn.autocommit
    steps = _own_steps() if folder is None else _read(folder)
    names: list[str] = []
    try:
        while (step := _next(conn, steps)) is not None:
            if _apply(conn, step, steps):
                names.append(step.name if step.upgrade is None else _UPGRADE)
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
        return _next(conn, _own_steps()) is None
    except psycopg.errors.InsufficientPrivilege:
        return False
    except psycopg.Error as error:
        raise MigrationError(
            f"The database does not say which tables it has: {_line(error)}: try it again."
        ) from error


def last_step() -> int:
    """Return the number of this program's last step, which is also how many there are."""
    return _own_steps()[-1].number


def _own_steps() -> list[Migration]:
    """Read schema.sql and the numbered files after it."""
    package = files(_PACKAGE)
    schema = Migration(1, _SCHEMA, (package / _SCHEMA).read_bytes())
    folder = package / "migrations"
    return [schema, *(_read(folder, first=2) if folder.is_dir() else [])]


def _read(folder: Traversable, first: int = 1) -> list[Migration]:
    """Read numbered files in order; their numbers count from `first` without a gap."""
    steps = [
        Migration(int(match[1]), match[0], file.read_bytes())
        for file in folder.iterdir()
        if (match := re.fullmatch(r"(\d{4})_\w+\.sql", file.name))
    ]
    steps.sort(key=lambda step: step.number)
    numbers = [step.number for step in steps]
    if numbers != list(range(first, first + len(steps))) or (first == 1 and not steps):
        raise MigrationError(f"The schema's files in {folder} are incomplete: install ragkit anew.")
    return steps


def _next(conn: Connection[Any], steps: list[Migration]) -> Migration | None:
    """Return the first step that has not been applied, having checked those that have."""
    import psycopg

    try:
        applied = conn.execute(_APPLIED).fetchall()
    except psycopg.errors.UndefinedTable:
        applied = []
    if applied and applied[0][1] == _PRERELEASE_FIRST and steps[0].name == _SCHEMA:
        return _upgrade(applied[-1][1], steps[0])
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


def _upgrade(latest: str, schema: Migration) -> Migration:
    """Return the step that brings a database from before schema.sql to it."""
    if latest != _PRERELEASE_LAST:
        raise MigrationError(
            f"The database is of a ragkit from before the first release: its last step is {latest},"
            f" and only one with {_PRERELEASE_LAST} can be upgraded: open it once with the last"
            " ragkit that had numbered steps, or ingest into a new database."
        )
    script = (files(_PACKAGE) / _UPGRADE).read_bytes()
    return Migration(schema.number, schema.name, schema.sql, upgrade=script)


def _apply(conn: Connection[Any], step: Migration, steps: list[Migration]) -> bool:
    """Apply one step, unless another process has done so while this one waited for its turn."""
    import psycopg

    from ragkit.store.connection.citus import is_distributed

    with conn.transaction():
        conn.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        conn.execute("SET LOCAL ragkit.all_tenants = 'on'")  # a step may change their rows
        if not is_distributed(conn):  # the nodes get what they need with the tables
            conn.execute("SET LOCAL citus.enable_ddl_propagation = off")
        try:
            conn.execute(_TABLE)
            if _next(conn, steps) != step:
                return False
            if step.upgrade is None:
                conn.execute(step.sql)
            else:
                conn.execute(step.upgrade)
                conn.execute(_FORGET)
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
    """Return the message without the context that PostgreSQL adds in further lines."""
    text = error.diag.message_primary or str(error).partition("\n")[0]
    return text.strip() or type(error).__name__
