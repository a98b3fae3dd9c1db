"""A database of the last step before schema.sql, with rows in it, becomes equal to a fresh one.

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
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from ragkit.errors import MigrationError
from ragkit.store.admin.backup import back_up, restore
from ragkit.store.connection import roles
from ragkit.store.connection.connect import connect
from ragkit.store.connection.migrate import is_current, migrate
from ragkit.store.open import prepare_database
from ragkit.store.server.programs import find_programs
from ragkit.store.vectors import ensure_space
from ragkit.store.words import segments
from ragkit.text.analyse import ANALYSER
from ragkit.text.terms import Terms
from ragkit.types import EmbeddingSpace
from tests.core.store.conftest import Tenanted, new_unprepared

PRERELEASE: Final = Path(__file__).parent / "prerelease"  # the numbered files of that time
STEPS: Final = 19
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
    ("lexical_segment", "ids"): b"",
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
        document_id bigint NOT NULL, generation integer NOT NULL DEFAULT 1,
        embedding halfvec(4) NOT NULL, PRIMARY KEY (tenant, chunk_id),
        FOREIGN KEY (tenant, chunk_id) REFERENCES chunk ON DELETE CASCADE);
    CREATE INDEX vectors_1_document ON vectors_1 (tenant, collection_id, document_id);
    CREATE INDEX vectors_1_generation ON vectors_1 (tenant, collection_id, generation);
"""


@pytest.fixture(scope="module")
def fresh(database_url: str) -> Iterator[dict[str, list[str]]]:
    """The schema of a database that this version makes."""
    with new_unprepared(database_url) as made:
        prepare_database(made.settings_with(tenants="off"))
        with connect(made.owner_url) as owner:
            ensure_space(owner, SPACE)
        prepare_database(made.settings)
        yield schema(made)


def test_a_prerelease_database_becomes_equal_to_a_fresh_one(
    database_url: str, fresh: dict[str, list[str]]
) -> None:
    with prerelease(database_url) as made:
        prepare_database(made.settings)
        assert differences(schema(made), fresh) == {}


def test_a_prerelease_database_with_tenants_is_used_without_another_command(
    database_url: str, fresh: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The upgrade secures what it makes and grants its use."""
    with prerelease(database_url) as made, connect(made.owner_url) as owner:
        with monkeypatch.context() as patch:
            patch.setattr(roles, "VIEWS", ())
            roles.prepare(owner, made.role, enforce=True)
        assert migrate(owner) == ["upgrade_from_prerelease.sql", "0002_citus.sql"]
        assert is_current(owner)
        assert differences(schema(made), fresh) == {}
        assert owner.execute(_UNUSABLE, (made.role,)).fetchall() == []


def test_an_earlier_prerelease_database_is_refused(database_url: str) -> None:
    with (
        prerelease(database_url, steps=STEPS - 1) as made,
        pytest.raises(MigrationError, match=r"only one with 0019_document_bytes\.sql"),
    ):
        prepare_database(made.settings)


def test_words_of_an_extension_become_postings(database_url: str, tmp_path: Path) -> None:
    """As a chunk's terms were stored for pg_textsearch or pg_search."""
    terms = Terms.of([["force", "majeure", "force"], ["tax"], ["majeure"] * 300])
    ids = np.array([4, 5, 9], np.int64)
    with prerelease(database_url, filled=False) as made:
        with psycopg.connect(made.admin_url, autocommit=True) as admin:
            admin.execute("SET session_replication_role = replica")
            admin.execute(
                "INSERT INTO collection (tenant, name, settings) VALUES ('t', 'c', %s)",
                (Jsonb({"lexical_index": "pg_search", "analyser": ANALYSER}),),
            )
            packed = segments.pack_segment(ids, terms.lengths)
            admin.execute("INSERT INTO lexical_segment VALUES ('t', 1, 7, 3, 304, %s, %s)", packed)
            admin.execute(
                "INSERT INTO document (tenant, collection_id, uri, uri_key, content_hash,"
                " fingerprint, title, language, media_type, metadata, page_starts, page_numbers,"
                " chars, text) VALUES ('t', 1, 'u', '', '', '', '', '', '', '{}', '{}', '{}', 9,"
                " 'some text')"
            )
            admin.execute(
                "INSERT INTO chunk (tenant, id, collection_id, document_id, ordinal, start_char,"
                " end_char, headings, tokens, terms) SELECT 't', id, 1, 1, id, 0, 9, '{}', 2, 2"
                " FROM unnest(%s::bigint[]) AS id",
                (ids.tolist(),),
            )
            for chunk, words in zip(ids.tolist(), terms, strict=True):
                admin.execute(
                    "INSERT INTO lexical_text VALUES ('t', 1, %s, %s)", (chunk, " ".join(words))
                )
        saved = back_up(made.owner_url, tmp_path / "saved")
        assert saved.tables["lexical_text"][0] == 3
        with new_unprepared(database_url) as target:
            restore(target.owner_url, tmp_path / "saved")
            with psycopg.connect(target.admin_url) as admin:
                postings = admin.execute("SELECT term, data FROM lexical_posting ORDER BY term")
                assert dict(postings.fetchall()) == segments.invert(terms)
                settings = admin.execute("SELECT settings FROM collection").fetchone()
                assert settings == ({"analyser": ANALYSER},)


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
        ("ALTER VIEW visible_chunk RESET (security_invoker)", "VIEW"),
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
def prerelease(url: str, *, steps: int = STEPS, filled: bool = True) -> Iterator[Tenanted]:
    """Make a database by the numbered files of that time, with a row in each of its tables."""
    with new_unprepared(url) as made, TemporaryDirectory() as folder:
        for path in sorted(PRERELEASE.glob("*.sql"))[:steps]:
            shutil.copy(path, folder)
        with connect(made.owner_url) as owner:
            assert len(migrate(owner, Path(folder))) == steps
            owner.execute(_VECTORS)
            owner.execute("SELECT ragkit_secure_table('vectors_1')")
        if filled:
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
