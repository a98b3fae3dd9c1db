"""A database of every earlier schema, with rows in it, becomes equal to a fresh one.

What is compared is PostgreSQL's own dump: tables, columns, types, defaults, constraints, indexes,
policies, triggers, functions and grants.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from psycopg import sql

import ragkit
from ragkit.store import tenancy
from ragkit.store.connect import connect
from ragkit.store.migrate import last_step, migrate
from ragkit.store.open import prepare_database
from ragkit.store.programs import find_programs
from ragkit.store.vectors import ensure_space
from ragkit.types import EmbeddingSpace
from tests.core.store.conftest import Tenanted, new_unprepared

STEPS: Final = sorted((Path(ragkit.__file__).parent / "store" / "migrations").glob("*.sql"))
DOCUMENTED, SECURED = 12, 13  # the steps since which vectors name documents, and have policies
SPACE: Final = EmbeddingSpace("t", "t", 4, "t", "t")

# The first row of a table: every number is 1, so that references between the tables hold.
VALUES: Final = {
    "text": "t",
    "smallint": 1,
    "integer": 1,
    "bigint": 1,
    "boolean": False,
    "real": 0.5,
    "double precision": 0.5,
    "uuid": "11111111-1111-1111-1111-111111111111",
    "bytea": bytes(32),
    "json": "{}",
    "jsonb": "{}",
    "timestamp with time zone": "2026-01-31T00:00:00Z",
    "text[]": ["t"],
    "integer[]": [1],
    "bigint[]": [1],
    "double precision[]": [0.5],
    "halfvec(4)": "[1,0,0,0]",
}
EXCEPT: Final = {
    ("calibration", "mode"): "hybrid",
    ("chunk", "start_char"): 0,
    ("embedding_space", "dimension"): 4,
    ("feedback", "citations"): "[]",
    ("kept_answer", "citations"): "[]",
    # A record of migration 1: chunk 1, once, in a chunk of one word.
    ("lexical_posting", "data"): b"\1" + bytes(7) + b"\1\0\0\0" + b"\1\0\0\0",
}
_REQUIRED: Final = """
    SELECT c.relname, array_agg(a.attname::text), array_agg(format_type(a.atttypid, a.atttypmod))
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
        AND c.relname <> 'ragkit_migration' AND a.attnum > 0 AND NOT a.attisdropped
        AND a.attnotnull AND NOT a.atthasdef AND a.attidentity = ''
    GROUP BY c.relname
"""
_UNUSABLE: Final = """
    SELECT seqrelid::regclass::text FROM pg_sequence
    WHERE NOT has_sequence_privilege(%s, seqrelid, 'USAGE')
        AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = seqrelid AND deptype = 'i')
"""
_VECTORS: Final = """
    CREATE TABLE vectors_1 (
        tenant text NOT NULL, chunk_id bigint NOT NULL, collection_id bigint NOT NULL,
        {more} embedding halfvec(4) NOT NULL, PRIMARY KEY (tenant, chunk_id),
        FOREIGN KEY (tenant, chunk_id) REFERENCES chunk ON DELETE CASCADE);
"""
_EARLIER_VECTORS: Final = (
    _VECTORS.format(more="")
    + """
    CREATE INDEX vectors_1_collection ON vectors_1 (tenant, collection_id);
    CREATE INDEX vectors_1_hnsw ON vectors_1 USING hnsw (embedding halfvec_cosine_ops);
"""
)
_LATER_VECTORS: Final = (
    _VECTORS.format(more="document_id bigint NOT NULL, generation integer NOT NULL DEFAULT 1,")
    + """
    CREATE INDEX vectors_1_document ON vectors_1 (tenant, collection_id, document_id);
    CREATE INDEX vectors_1_generation ON vectors_1 (tenant, collection_id, generation);
"""
)


@pytest.fixture(scope="module")
def fresh(database_url: str) -> Iterator[dict[str, list[str]]]:
    """The schema of a database that this version makes."""
    with new_unprepared(database_url) as made:
        prepare_database(made.settings_with(tenants="off"))
        with connect(made.owner_url) as owner:
            ensure_space(owner, SPACE)
        prepare_database(made.settings)
        yield schema(made)


@pytest.mark.parametrize("step", range(1, last_step()))
def test_a_database_of_an_earlier_step_becomes_equal_to_a_fresh_one(
    step: int, database_url: str, fresh: dict[str, list[str]], tmp_path: Path
) -> None:
    with earlier(database_url, step, tmp_path) as made:
        prepare_database(made.settings)
        assert differences(schema(made), fresh) == {}


@pytest.mark.parametrize("step", range(SECURED, last_step()))
def test_a_database_with_tenants_is_used_after_the_upgrade_without_another_command(
    step: int,
    database_url: str,
    fresh: dict[str, list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each step since the policies secures its own tables and grants their use."""
    with earlier(database_url, step, tmp_path) as made, connect(made.owner_url) as owner:
        shared = [name for name in tenancy.SHARED if exists(owner, name)]
        with monkeypatch.context() as patch:
            patch.setattr(tenancy, "SHARED", tuple(shared))
            tenancy.prepare(owner, made.role, enforce=True)
        assert len(migrate(owner)) == last_step() - step
        changed = differences(schema(made), fresh)
        # Rows get their numbers without a right to the sequence of an identity column.
        assert [name for name in changed if not re.match(r"SEQUENCE \w+; Type: ACL", name)] == []
        assert owner.execute(_UNUSABLE, (made.role,)).fetchall() == []
        prepare_database(made.settings)
        assert differences(schema(made), fresh) == {}


def test_the_comparison_sees_each_kind_of_difference(tenanted: Tenanted) -> None:
    before = schema(tenanted)
    for change, changed in (
        ("ALTER TABLE job ALTER COLUMN attempts SET DEFAULT 1", "TABLE"),
        ("ALTER TABLE job ALTER COLUMN worker TYPE bigint", "TABLE"),
        ("ALTER TABLE job DROP CONSTRAINT job_state_check", "TABLE"),
        ("ALTER TABLE job DROP CONSTRAINT job_tenant_place_id_fkey", "FK CONSTRAINT"),
        ("DROP INDEX job_open", "INDEX"),
        ("ALTER POLICY tenant ON job USING (true)", "POLICY"),
        ("ALTER TABLE job NO FORCE ROW LEVEL SECURITY", "TABLE"),
        ("DROP TRIGGER drop_postings ON collection", "TRIGGER"),
        ("ALTER FUNCTION ragkit_any_key() SECURITY INVOKER", "FUNCTION"),
        ("GRANT TRUNCATE ON job TO PUBLIC", "ACL"),
    ):
        with psycopg.connect(tenanted.owner_url, autocommit=True) as owner:
            owner.execute(change.encode())
        after = schema(tenanted)
        (name,) = differences(before, after)
        assert f"Type: {changed};" in name, change
        before = after


@contextmanager
def earlier(url: str, step: int, folder: Path) -> Iterator[Tenanted]:
    """Make a database by the migrations up to a step, with a row in each of its tables."""
    for path in STEPS[:step]:
        shutil.copy(path, folder)
    with new_unprepared(url) as made:
        with connect(made.owner_url) as owner:
            assert len(migrate(owner, folder)) == step
            owner.execute(_EARLIER_VECTORS if step < DOCUMENTED else _LATER_VECTORS)
            if step >= SECURED:
                owner.execute("SELECT ragkit_secure_table('vectors_1')")
        with psycopg.connect(made.admin_url, autocommit=True) as admin:
            fill(admin)
        yield made


def fill(conn: psycopg.Connection[Any]) -> None:
    """Write a row into every table."""
    conn.execute("SET session_replication_role = replica")  # whatever the tables' order
    tables = conn.execute(_REQUIRED).fetchall()
    assert len(tables) > 8
    for table, columns, types in tables:
        values = [
            EXCEPT.get((table, column), VALUES[kind])
            for column, kind in zip(columns, types, strict=True)
        ]
        conn.execute(
            sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
                sql.Identifier(table),
                sql.SQL(", ").join(map(sql.Identifier, columns)),
                sql.SQL(", ").join(map(sql.Literal, values)),
            )
        )


def exists(conn: psycopg.Connection[Any], table: str) -> bool:
    return conn.execute("SELECT to_regclass(%s) IS NOT NULL", (table,)).fetchone() == (True,)


def schema(made: Tenanted) -> dict[str, list[str]]:
    """Dump a database's schema: the statements of each object, in no order of their lines."""
    command = [str(find_programs().folder / "pg_dump"), "--schema-only", made.admin_url]
    dump = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    objects = re.split(r"^-- Name: (.+)$", dump, flags=re.MULTILINE)[1:]
    return {
        name: sorted(
            line.rstrip(",")
            for line in text.splitlines()
            # Each dump has a random word against injected commands.
            if line and not line.startswith(("--", "\\restrict", "\\unrestrict"))
        )
        for name, text in zip(objects[::2], objects[1::2], strict=True)
    }


def differences(
    one: dict[str, list[str]], other: dict[str, list[str]]
) -> dict[str, tuple[list[str], list[str]]]:
    """Return what only one of two schemas has, by object."""
    return {
        name: (
            sorted(set(one.get(name, ())) - set(other.get(name, ()))),
            sorted(set(other.get(name, ())) - set(one.get(name, ()))),
        )
        for name in one.keys() | other.keys()
        if one.get(name) != other.get(name)
    }
