"""A write that the server gave up so that another could go on is done again, whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import psycopg
import pytest
from psycopg import Connection
from psycopg_pool import ConnectionPool

from ragkit.errors import DatabaseError
from ragkit.store.connection.retry import TRIES
from ragkit.store.documents import copies
from ragkit.store.postgres import PostgresStore
from ragkit.testing import new_document
from ragkit.types import EmbeddingSpace

Pool = ConnectionPool[Connection[Any]]
SPACE = EmbeddingSpace("model", "1", 4)
ROW = np.eye(4, dtype=np.float32)[:1]


class GivenUp:
    """Does as told, and is then given up, so many times."""

    def __init__(self, real: Any, times: int, error: type[psycopg.Error]) -> None:
        self.real, self.left, self.error, self.calls = real, times, error, 0

    def __call__(self, *args: Any, **named: Any) -> Any:
        self.calls += 1
        done = self.real(*args, **named)
        if self.left:
            self.left -= 1
            raise self.error("given up")
        return done


def deleting(
    pool: Pool, patch: pytest.MonkeyPatch, times: int, error: type[psycopg.Error]
) -> tuple[PostgresStore, GivenUp]:
    """Return a store with two files, of which deletions are given up."""
    store = PostgresStore(pool, durable=False)
    store.create_collection("c")
    for uri in ("a", "b"):
        store.put_document("c", new_document(uri, uri), SPACE, ROW)
    given_up = GivenUp(copies.remove_uris, times, error)
    patch.setattr(copies, "remove_uris", given_up)
    return store, given_up


@pytest.mark.parametrize(
    "error", [psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure]
)
def test_what_was_given_up_is_done_again_whole(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, error: type[psycopg.Error]
) -> None:
    store, given_up = deleting(pool, monkeypatch, TRIES - 1, error)
    assert store.delete_uris("c", ["a"]) == 1
    assert given_up.calls == TRIES
    assert sorted(store.named("c")) == ["b"]


def test_not_for_ever(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    store, given_up = deleting(pool, monkeypatch, 99, psycopg.errors.DeadlockDetected)
    with pytest.raises(DatabaseError, match="given up"):
        store.delete_uris("c", ["a"])
    assert given_up.calls == TRIES
    assert sorted(store.named("c")) == ["a", "b"]


def test_what_is_wrong_is_not_done_again(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    store, given_up = deleting(pool, monkeypatch, 1, psycopg.errors.CheckViolation)
    with pytest.raises(DatabaseError, match="refused a statement"):
        store.delete_uris("c", ["a"])
    assert given_up.calls == 1
    assert sorted(store.named("c")) == ["a", "b"]
