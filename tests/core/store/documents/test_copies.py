"""Files with the same or nearly the same content: stored once, listed, and never lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from psycopg import Connection
from psycopg_pool import ConnectionPool

from ragkit.errors import NotFoundError
from ragkit.retrieve.words.search import search_words
from ragkit.store.documents.copies import FileCopy
from ragkit.store.documents.history import History
from ragkit.store.documents.sharing import Change, Shares, Sharing
from ragkit.store.postgres import PostgresStore
from ragkit.testing import new_document
from ragkit.text.analyse import ANALYSER
from ragkit.types import EmbeddingSpace

Pool = ConnectionPool[Connection[Any]]
SPACE = EmbeddingSpace("model", "1", 4)
ROW = np.eye(4, dtype=np.float32)[:1]
ONE, TWO = ("one", "test"), ("two", "test")


@pytest.fixture
def store(pool: Pool) -> PostgresStore:
    made = PostgresStore(pool)
    made.create_collection("c")
    return made


def put(store: PostgresStore, uri: str, text: str, **more: Any) -> int:
    new = replace(new_document(uri, text), content_hash=text, **more)
    return store.put_document("c", new, SPACE, ROW).id


def words(store: PostgresStore, word: str) -> list[str]:
    """The URIs of what is found by a word."""
    with store.snapshot() as reader:
        found = [chunk for chunk, _ in search_words(reader, "c", word, 9).best]
        return sorted(hit.uri for hit in reader.hits(found))


def test_a_copy_is_known_and_named_and_listed(store: PostgresStore) -> None:
    number = put(store, "a", "one")
    assert store.holders("c", ["one", "two"], "test") == {"one": number}
    assert store.holders("c", ["one"], "another pipeline") == {}
    assert store.put_copy("c", "b", ONE, number)
    assert store.put_copy("c", "near", TWO, number, similarity=0.93)
    assert store.known("c") == {"a": ONE, "b": ONE, "near": TWO}
    assert store.known("c", ["b", "z"]) == {"b": ONE}
    assert store.named("c") == {"a": number, "b": number, "near": number}
    exact, near = store.copies("c")[number]
    assert exact == FileCopy("b", number, 1.0)
    assert (near.uri, near.document, round(near.similarity, 6)) == ("near", number, 0.93)
    assert len(store.documents("c")) == 1


def test_the_first_copy_takes_over_what_was_stored(store: PostgresStore) -> None:
    number = put(store, "a", "one")
    for uri in ("c", "b"):
        store.put_copy("c", uri, ONE, number)
    assert store.remove_document("c", number) == "c"
    assert store.known("c") == {"c": ONE, "b": ONE}
    assert words(store, "one") == ["c"]
    other = put(store, "c", "two")
    assert other != number
    assert store.known("c") == {"b": ONE, "c": TWO}
    assert (words(store, "one"), words(store, "two")) == (["b"], ["c"])
    assert store.delete_uris("c", ["b", "c", "gone"]) == 2
    assert store.known("c") == {}
    assert words(store, "one") == []


def test_copies_deleted_with_their_document_leave_nothing(store: PostgresStore) -> None:
    number = put(store, "a", "one")
    store.put_copy("c", "b", ONE, number)
    assert store.remove_document("c", number, with_copies=True) is None
    assert store.known("c") == {}
    number = put(store, "a", "one")
    store.put_copy("c", "b", ONE, number)
    assert store.delete_uris("c", ["a", "b"]) == 2
    assert store.documents("c") == []


def test_a_near_duplicate_is_forgotten_with_what_it_was_near(store: PostgresStore) -> None:
    number = put(store, "a", "one")
    store.put_copy("c", "near", TWO, number, similarity=0.9)
    assert put(store, "a", "three") == number
    assert set(store.known("c")) == {"a"}  # its file is taken in anew
    store.put_copy("c", "near", TWO, number, similarity=0.9)
    assert store.remove_document("c", number) is None
    assert store.known("c") == {}


def test_a_document_that_becomes_a_copy_and_one_again(store: PostgresStore) -> None:
    first, second = put(store, "a", "one"), put(store, "b", "two")
    store.put_copy("c", "also b", TWO, second)
    assert store.put_copy("c", "b", ONE, first)
    assert store.known("c") == {"a": ONE, "b": ONE, "also b": TWO}
    assert words(store, "two") == ["also b"]
    put(store, "b", "three")
    assert store.known("c")["b"] == ("three", "test")
    assert store.copies("c") == {}


def test_what_cannot_be_a_copy(pool: Pool, store: PostgresStore) -> None:
    number = put(store, "a", "one")
    assert not store.put_copy("c", "b", TWO, number)  # other content
    assert not store.put_copy("c", "b", ("one", "other pipeline"), number)
    assert not store.put_copy("c", "a", ONE, number)  # of itself
    assert not store.put_copy("c", "b", ONE, number + 99)
    Shares(pool, "default").document(number, Change(readers=("user:ada",)))
    assert not store.put_copy("c", "b", ONE, number)
    assert store.holders("c", ["one"], "test") == {}
    assert store.known("c") == {"a": ONE}


def test_new_content_is_shared_as_what_it_took_the_place_of(
    pool: Pool, store: PostgresStore
) -> None:
    number = put(store, "a", "one")
    store.put_copy("c", "b", ONE, number)
    shares = Shares(pool, "default")
    shares.document(number, Change(owner="user:ada", readers=()))
    new = put(store, "a", "two")
    assert new != number
    assert shares.document(new) == Sharing("user:ada", ())
    assert shares.document(number) == Sharing("user:ada", ())
    assert PostgresStore(pool, readers=("user:bob",)).known("c") == {}
    assert PostgresStore(pool, readers=("user:bob",)).copies("c") == {}


def test_the_same_content_made_by_another_pipeline_stays_in_its_place(store: PostgresStore) -> None:
    number = put(store, "a", "one")
    store.put_copy("c", "b", ONE, number)
    assert put(store, "a", "one", fingerprint="new") == number
    assert store.known("c") == {"a": ("one", "new"), "b": ONE}
    assert store.put_copy("c", "b", ("one", "new"), number)
    assert store.known("c")["b"] == ("one", "new")


def test_documents_with_a_band_in_common(store: PostgresStore) -> None:
    lowest, highest = -(2**63), 2**63 - 1
    first = put(store, "a", "one", signature=b"\0\1", bands=(lowest, 5))
    second = put(store, "b", "two", signature=b"\2", bands=(5, highest, 5))
    put(store, "d", "three")
    assert store.alike("c", [5]) == [(first, "a", b"\0\1"), (second, "b", b"\2")]
    assert store.alike("c", [lowest, 7]) == [(first, "a", b"\0\1")]
    assert store.alike("c", [8]) == store.alike("c", []) == []
    put(store, "a", "four", signature=b"\3", bands=(8,))
    assert store.alike("c", [5, 8]) == [(first, "a", b"\3"), (second, "b", b"\2")]
    store.delete_document("c", second)
    assert store.alike("c", [highest]) == []


def test_a_version_taken_back_has_no_copies(pool: Pool) -> None:
    store = PostgresStore(pool, keep_versions=2)
    store.create_collection("c")
    number = put(store, "a", "one", bands=(1,), signature=b"1")
    put(store, "a", "two", bands=(2,), signature=b"2")
    store.put_copy("c", "b", TWO, number)
    History(pool, "default").restore(number, 1)
    assert store.known("c") == {"a": ONE}
    assert store.alike("c", [1, 2]) == []
    with pytest.raises(NotFoundError):
        store.remove_document("c", number + 99)


def test_a_collections_own_options(store: PostgresStore) -> None:
    assert store.ingest_options("c") == {}
    assert store.set_ingest_options("c", {"mask": "email", "chunk_tokens": 100}) == {
        "mask": "email",
        "chunk_tokens": 100,
    }
    changed = store.set_ingest_options("c", {"splitter": "code"}, unset=["mask", "ocr"])
    assert changed == store.ingest_options("c") == {"chunk_tokens": 100, "splitter": "code"}
    assert store.set_ingest_options("c", {}, unset=["chunk_tokens", "splitter"]) == {}
    assert store.analyser("c") == ANALYSER  # the other settings stay
    with pytest.raises(NotFoundError):
        store.ingest_options("d")
