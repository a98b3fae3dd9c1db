"""Another name for a collection: what follows it, and when it is refused."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from psycopg import Connection
from psycopg_pool import ConnectionPool

from ragkit.errors import BusyError, NotFoundError, UsageError
from ragkit.store.people.conversations import Conversations, StoredTurn
from ragkit.store.postgres import PostgresStore
from tests.core.store.test_postgres import SPACE, document, unit

Pool = ConnectionPool[Connection[Any]]
KEY = """
    INSERT INTO access_key (tenant, name, principal, scopes, collections, sha256)
    VALUES (%s, 'k', 'p', '{read}', %s, sha256(%s::bytea)) RETURNING id
"""
JOB = """
    INSERT INTO job (tenant, collection_id, uri, uri_key, kind, state)
    SELECT 'default', id, 'u', sha256('u'), 'ingest', %s FROM collection WHERE name = 'old'
"""


@pytest.fixture
def store(pool: Pool) -> PostgresStore:
    made = PostgresStore(pool)
    made.create_collection("old")
    return made


def names(store: PostgresStore) -> list[str]:
    return [one.name for one in store.collections()]


def test_documents_conversations_and_keys_follow(store: PostgresStore, pool: Pool) -> None:
    other = PostgresStore(pool, tenant="other")
    other.create_collection("old")
    store.put_document("old", document("u", "text"), SPACE, unit(1, 0, 0, 0))
    talks = Conversations(pool, "default", "me")
    number, token = uuid4(), uuid4()
    talks.begin(number, token, new=("old", "How long?"))
    talks.finish(number, token, StoredTurn("How long?", "How long?", "Long.", False, ""))
    with pool.connection() as conn:
        ours = conn.execute(KEY, ("default", ["a", "old"], "1")).fetchone()
        theirs = conn.execute(KEY, ("other", ["old"], "2")).fetchone()
    store.rename_collection("old", "new")
    assert names(store) == ["new"]
    assert names(other) == ["old"]
    assert [one.uri for one in store.documents("new")] == ["u"]
    assert talks.get(number).collection == "new"
    with pool.connection() as conn:
        kept = dict(conn.execute("SELECT id, collections FROM access_key").fetchall())
    assert ours is not None
    assert theirs is not None
    assert kept == {ours[0]: ["a", "new"], theirs[0]: ["old"]}


def test_a_name_that_is_taken_or_cannot_be_one_is_refused(store: PostgresStore) -> None:
    store.create_collection("taken")
    with pytest.raises(UsageError, match=r"'taken' already: choose another name"):
        store.rename_collection("old", "taken")
    for name in ("", " ", "a\nb", "x" * 201):
        with pytest.raises(UsageError, match="cannot be named"):
            store.rename_collection("old", name)
    with pytest.raises(NotFoundError):
        store.rename_collection("nowhere", "new")
    store.rename_collection("old", "old")
    assert names(store) == ["old", "taken"]


def test_it_waits_for_files_that_are_being_read(store: PostgresStore, pool: Pool) -> None:
    with pool.connection() as conn:
        conn.execute(JOB, ("running",))
    with pytest.raises(BusyError, match="try again when they are done"):
        store.rename_collection("old", "new")
    with pool.connection() as conn:
        conn.execute("UPDATE job SET state = 'done'")
    store.rename_collection("old", "new")
    assert names(store) == ["new"]
