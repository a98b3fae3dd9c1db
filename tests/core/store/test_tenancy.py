"""Tenants kept apart by the database itself: every test here is made as the role that it binds."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import Connection, sql
from psycopg.conninfo import conninfo_to_dict

from ragkit.access import keys, logins
from ragkit.contracts import Store
from ragkit.errors import DatabaseError, NotFoundError
from ragkit.stats.cutoff import Cutoff
from ragkit.store.admin import backup
from ragkit.store.connection import roles
from ragkit.store.connection.connect import connect
from ragkit.store.connection.identity import act_for
from ragkit.store.connection.transactions import EVERYBODY, transaction
from ragkit.store.jobs.queue import forget_ended_uploads, next_queue, queue_worker, waiting
from ragkit.store.jobs.upload_bytes import Sources, Upload
from ragkit.store.jobs.uploads import UploadJobs, count_open
from ragkit.store.open import Database, open_database, prepare_database
from ragkit.store.people.calibration import Calibration, Calibrations
from ragkit.store.people.conversations import Conversations, StoredTurn
from ragkit.store.people.feedback import Feedback
from ragkit.store.people.kept_answers import KeptAnswers
from ragkit.testing.conformance.store import StoreConformance
from ragkit.types import Answer
from tests.core.store.conftest import Tenanted
from tests.core.store.test_postgres import SPACE, document, random_vectors
from tests.core.store.uploads import next_upload


@pytest.fixture(scope="module")
def database(tenanted: Tenanted) -> Iterator[Database]:
    with open_database(tenanted.settings) as opened:
        yield opened


@pytest.fixture(scope="module")
def filled(database: Database) -> Database:
    """Two tenants, each with something of everything that a test can make without a model."""
    for tenant, word in (("one", "canary"), ("two", "raven")):
        fill(database, tenant, word)
    return database


def fill(database: Database, tenant: str, word: str) -> None:
    pool = database.pool
    store = database.store(tenant)
    store.create_collection("c")
    store.put_document("c", document("a", f"the {word} sings", "at noon"), SPACE, random_vectors(2))
    store.put_document("c", document("a", f"the {word} rests"), SPACE, random_vectors(1))
    upload(database, tenant, word)
    talk = Conversations(pool, tenant, "p")
    number, token = uuid4(), uuid4()
    talk.begin(number, token, new=("c", word))
    talk.finish(number, token, StoredTurn(word, word, word, refused=False, reason=""))
    kept = KeptAnswers(pool, tenant, "p", keep_days=30)
    answer = Answer(text=word, refused=False, reason="")
    kept.keep("chatcmpl-1", collection="c", question=word, answer=answer, completion={"a": word})
    Feedback(pool, tenant, "p", keep_days=30).rate("chatcmpl-1", "up")
    cutoff = Cutoff(0.0, (0.0,), (0.0,), 0.5, signals=("one",))
    fitted = Calibration(None, "", "lexical", cutoff, "", 1, 1, 1, 0.9)
    Calibrations(pool, tenant).save("c", fitted)
    made = keys.create(database, name=word, tenant=tenant, principal="p")
    logins.begin(database, tenant=tenant, principal="p", scopes=("read",), key=made.access.id)


def upload(database: Database, tenant: str, text: str, name: str = "b.txt") -> int:
    file = Upload(name, io.BytesIO(text.encode()))
    (job,) = Sources(database.pool, tenant).keep("c", [file], principal="p", key=name)
    return job


class TestConformance(StoreConformance):
    """The store's contract, as the role that row-level security binds."""

    @pytest.fixture
    def store(self, database: Database) -> Store:
        return database.store(f"tenant {uuid4()}")


# What there is.


def test_every_table_is_secured_or_known_to_be_of_no_tenant(
    filled: Database, tenanted: Tenanted
) -> None:
    with psycopg.connect(tenanted.admin_url) as conn:
        tables: dict[str, str] = dict(
            conn.execute("""
                SELECT c.relname, (c.relrowsecurity, c.relforcerowsecurity, p.cmd, p.roles,
                    p.qual LIKE '%ragkit.tenant%', p.qual = p.with_check)::text
                FROM pg_class c LEFT JOIN pg_policies p ON p.tablename = c.relname
                WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
            """).fetchall()
        )
        views = conn.execute("""
            SELECT relname, relkind, reloptions FROM pg_class
            WHERE relnamespace = 'public'::regnamespace AND relkind NOT IN ('r', 'p', 'i', 'S')
        """).fetchall()
    shared = {*roles.SHARED, *roles.READ_ONLY}
    assert shared <= tables.keys()
    assert {"document", "chunk", "vectors_1", "job", "access_key"} <= tables.keys() - shared
    bare = {name for name in tables.keys() - shared if tables[name] != "(t,t,ALL,{public},t,t)"}
    assert not bare, "give it a column `tenant` and call ragkit_secure_table, or see SHARED"
    assert {name for name, _, _ in views} == set(roles.VIEWS)
    # Another kind of view would show its owner's rows.
    assert {(kind, *options) for _, kind, options in views} == {("v", "security_invoker=true")}


def test_functions_that_look_across_tenants_are_narrow(tenanted: Tenanted) -> None:
    with psycopg.connect(tenanted.admin_url) as conn:
        found = conn.execute("""
            SELECT proname, proconfig, has_function_privilege('public', oid, 'EXECUTE')
            FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prosecdef
        """).fetchall()
    assert {name for name, _, _ in found} == {
        "ragkit_any_key",
        "ragkit_count_uploads",
        "ragkit_end_login",
        "ragkit_find_key",
        "ragkit_find_login",
        "ragkit_forget_answers",
        "ragkit_forget_logins",
        "ragkit_forget_uploads",
        "ragkit_give_back",
        "ragkit_waiting",
    }
    assert {tuple(settings) for _, settings, _ in found} == {("search_path=public, pg_temp",)}
    assert not any(public for _, _, public in found)


def test_a_table_made_later_without_a_policy_is_refused(
    database: Database, tenanted: Tenanted
) -> None:
    with psycopg.connect(tenanted.owner_url, autocommit=True) as owner:
        owner.execute("CREATE TABLE forgotten (tenant text)")
        try:
            with pytest.raises(DatabaseError, match="forgotten has no row-level security"):
                open_database(tenanted.settings)
            with owner.cursor() as cursor:
                roles.secure_table(cursor, "forgotten")
            open_database(tenanted.settings).close()
        finally:
            owner.execute("DROP TABLE forgotten")


# What is seen.


def test_a_statement_that_forgets_the_tenant_sees_its_own_rows_alone(
    filled: Database, tenanted: Tenanted
) -> None:
    with psycopg.connect(tenanted.admin_url) as conn:
        tables = [name for (name,) in conn.execute("SELECT t::text FROM ragkit_tenant_tables() t")]
        there = {name: tenants(conn, name) for name in tables}
    both = {name for name, seen in there.items() if {"one", "two"} <= seen}
    assert both >= {
        *("access_key", "calibration", "chunk", "collection", "collection_space", "conversation"),
        *("document", "feedback", "job", "kept_answer", "lexical_posting", "lexical_segment"),
        *("lexical_tombstone", "login", "source", "source_part", "turn", "upload_key"),
    }
    assert any(name.startswith("vectors_") for name in both)
    for tenant, expected in (("one", {"one"}), ("two", {"two"}), (EVERYBODY, set())):
        with transaction(filled.pool, tenant) as cursor:
            assert {name: tenants(cursor, name) for name in both} == dict.fromkeys(both, expected)


def tenants(conn: Connection[Any] | psycopg.Cursor[Any], table: str) -> set[str]:
    statement = sql.SQL("SELECT DISTINCT tenant FROM {}").format(sql.Identifier(table))
    return {tenant for (tenant,) in conn.execute(statement)}


def test_without_a_transaction_of_ours_nothing_is_seen(filled: Database) -> None:
    with filled.pool.connection() as conn:
        assert tenants(conn, "document") == set()
        conn.execute("SET ragkit.all_tenants = 'on'")  # the owner's to say, not this role's
        assert tenants(conn, "document") == set()
        conn.execute("RESET ragkit.all_tenants")


def test_the_owner_sees_what_it_says_it_means(filled: Database, tenanted: Tenanted) -> None:
    with connect(tenanted.owner_url) as conn:
        assert tenants(conn, "document") == set()
    with filled.owner() as conn:
        assert {"one", "two"} <= tenants(conn, "document")


def test_another_tenants_rows_are_neither_written_nor_changed(filled: Database) -> None:
    with transaction(filled.pool, "one") as cursor:
        assert cursor.execute("UPDATE document SET title = 'x' WHERE tenant = 'two'").rowcount == 0
        assert cursor.execute("DELETE FROM document WHERE tenant = 'two'").rowcount == 0
    for statement in (
        "INSERT INTO collection (tenant, name) VALUES ('two', 'planted')",
        "UPDATE collection SET tenant = 'two' WHERE tenant = 'one'",
    ):
        with (
            pytest.raises(DatabaseError, match="violates row-level security policy"),
            transaction(filled.pool, "one") as cursor,
        ):
            cursor.execute(statement)


def test_no_ddl_no_truncate(filled: Database) -> None:
    for statement in (
        "CREATE TABLE t ()",
        "DROP TABLE turn",
        "TRUNCATE turn",
        "ALTER TABLE turn DISABLE ROW LEVEL SECURITY",
        "DROP POLICY tenant ON turn",
        "UPDATE ragkit_migration SET sha256 = ''",
        "SELECT ragkit_enforce()",
        "SET ROLE postgres",
    ):
        with (
            pytest.raises(DatabaseError, match=r"permission denied|must be owner"),
            transaction(filled.pool, "one") as cursor,
        ):
            cursor.execute(statement)


def test_the_stores_tenant_counts_not_the_threads(filled: Database) -> None:
    act_for("two", "somebody")
    try:
        (found,) = filled.store("one").documents("c")
        assert filled.store("one").text(found.id) == "the canary rests"
        with pytest.raises(NotFoundError):
            filled.store("two").text(found.id)
        with transaction(filled.pool, "one") as cursor:  # nor is it somebody of that tenant's
            assert principal(cursor) == ""
        with transaction(filled.pool, "two") as cursor:
            assert principal(cursor) == "somebody"
    finally:
        act_for("one", "")


def principal(cursor: psycopg.Cursor[Any]) -> Any:
    row = cursor.execute("SELECT current_setting('ragkit.principal')").fetchone()
    return row and row[0]


def test_a_tenant_of_any_name(database: Database) -> None:
    for tenant in ("o'neill", "back\\slash", "$1 %s ; --", "租户", "a\nb"):
        store = database.store(tenant)
        store.create_collection("c")
        assert [one.name for one in store.collections()] == ["c"]
        with transaction(database.pool, tenant) as cursor:
            assert tenants(cursor, "collection") == {tenant}


def test_the_owner_saves_all_tenants_and_restores_them(
    filled: Database, tenanted: Tenanted, tmp_path: Path
) -> None:
    saved = backup.back_up(tenanted.owner_url, tmp_path / "backup")
    with psycopg.connect(tenanted.admin_url) as conn:
        row = conn.execute("SELECT count(*) FROM document").fetchone()
    assert row is not None
    assert saved.tables["document"][0] == row[0] >= 2
    name = f"test_{uuid4().hex[:12]}"
    target = tenanted.owner_url.replace(f"/{tenanted.name}?", f"/{name}?")
    owner = sql.Identifier(str(conninfo_to_dict(target)["user"]))
    with psycopg.connect(tenanted.admin_url, autocommit=True) as admin:
        admin.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE template0 OWNER {}").format(
                sql.Identifier(name), owner
            )
        )
        try:
            url = tenanted.admin_url.replace(f"/{tenanted.name}?", f"/{name}?")
            with psycopg.connect(url, autocommit=True) as conn:
                conn.execute("CREATE EXTENSION vector")
            assert backup.restore(target, tmp_path / "backup").tables == saved.tables
            settings = tenanted.settings_with(
                database_url=tenanted.url.replace(f"/{tenanted.name}?", f"/{name}?"),
                database_owner_url=target,
            )
            with pytest.raises(DatabaseError, match="run `ragkit db prepare`"):
                open_database(settings)
            prepare_database(settings)
            with open_database(settings) as again, transaction(again.pool, "one") as cursor:
                assert tenants(cursor, "document") == {"one"}
        finally:
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


# What crosses tenants.


def test_keys_and_log_ins_are_found_before_their_tenant_is_known(filled: Database) -> None:
    made = keys.create(filled, name="k", tenant="two", principal="ann")
    found = keys.verify(filled, made.secret)
    assert found is not None
    assert (found.tenant, found.principal) == ("two", "ann")
    token = logins.begin(
        filled, tenant="two", principal="ann", scopes=("read",), key=made.access.id
    )
    who = logins.verify(filled, token)
    assert who is not None
    assert (who.tenant, who.principal) == ("two", "ann")
    assert keys.any_valid(filled)
    assert {key.tenant for key in keys.list_keys(filled, tenant="two")} == {"two"}
    assert {key.tenant for key in keys.list_keys(filled)} == {"one", "two"}  # by the owner
    with pytest.raises(NotFoundError):
        keys.revoke(filled, made.access.id, tenant="one")
    keys.revoke(filled, made.access.id)
    assert keys.verify(filled, made.secret) is None
    assert logins.verify(filled, token) is None


def test_a_log_in_ends(filled: Database) -> None:
    token = logins.begin(filled, tenant="two", principal="ann", scopes=("read",))
    logins.end(filled, token)
    assert logins.verify(filled, token) is None


def test_uploads_of_all_tenants_are_taken_in_turn(filled: Database) -> None:
    first, second = (f"turn {uuid4()}" for _ in range(2))
    for tenant, names in ((first, ("1.txt", "2.txt")), (second, ("3.txt",))):
        filled.store(tenant).create_collection("c")
        for name in names:
            upload(filled, tenant, name, name)
    assert count_open(filled.pool)["queued"] == 5  # and those of the two that were filled before
    queues = [queue for queue in waiting(filled.pool) if queue.tenant.startswith("turn")]
    assert {(queue.tenant, queue.uploads) for queue in queues} == {(first, 2), (second, 1)}
    assert next_queue(queues, "").tenant == min(first, second)
    assert next_queue(queues, min(first, second)).tenant == max(first, second)
    assert next_queue(queues, max(first, second)).tenant == min(first, second)
    uploads: set[tuple[str, str]] = set()
    for queue in waiting(filled.pool):
        with queue_worker(filled.pool, queue.tenant, queue.collection) as worker:
            while (job := next_upload(worker)) is not None:
                assert job.upload is not None
                uploads.add((queue.tenant, job.upload.name))
                assert worker.progress([(job, 1, 2)]) == [True]
                worker.fail(job, "parse", "no")
    assert {(first, "1.txt"), (first, "2.txt"), (second, "3.txt")} <= uploads
    forget_ended_uploads(filled.pool)
    assert count_open(filled.pool) == {"queued": 0, "running": 0}
    states = {job.state for job in UploadJobs(filled.pool, first).page(limit=9)}
    assert states == {"failed"}
    assert len(UploadJobs(filled.pool, first).page(limit=9)) == 2


def test_kept_answers_of_everybody_go_when_their_time_is_over(
    filled: Database, tenanted: Tenanted
) -> None:
    answer = Answer(text="x", refused=False, reason="")

    def keep(tenant: str) -> None:
        kept = KeptAnswers(filled.pool, tenant, "p", keep_days=30)
        kept.keep("other", collection="c", question="q", answer=answer, completion={})

    keep("gone by then")
    with psycopg.connect(tenanted.admin_url) as conn:
        conn.execute(
            "UPDATE kept_answer SET created_at = now() - interval '31 days'"
            " WHERE tenant = 'gone by then'"
        )
    keep("one")
    with psycopg.connect(tenanted.admin_url) as conn:
        assert tenants(conn, "kept_answer") == {"one", "two"}
