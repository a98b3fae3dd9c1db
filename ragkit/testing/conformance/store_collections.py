"""What every `Store` must do with collections and their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from ragkit.errors import NotFoundError, RagkitError
from ragkit.testing.conformance.store_steps import (
    HOSTILE,
    chunk_ids,
    hit_texts,
    nearest,
    postings,
    put,
)
from ragkit.testing.corpus import new_document

if TYPE_CHECKING:
    from ragkit.contracts import Store


UNSTORABLE = ("", " ", "a\x00b", "\ud800", "line\nbreak", "长" * 10_000)


class CollectionRules:
    def test_new_store_is_empty(self, store: Store) -> None:
        assert list(store.collections()) == []

    def test_create_collection_returns_the_one_that_is_there(self, store: Store) -> None:
        first = store.create_collection("notes")
        assert (first.name, first.documents, first.chunks) == ("notes", 0, 0)
        put(store, "notes", new_document("a", "one", "two"))
        repeated = store.create_collection("notes")
        assert (repeated.id, repeated.documents, repeated.chunks) == (first.id, 1, 2)
        assert list(store.collections()) == [repeated]

    def test_collections_are_listed_by_name(self, store: Store) -> None:
        for name in ("pear", "apple", "quince"):
            store.create_collection(name)
        assert [collection.name for collection in store.collections()] == [
            "apple",
            "pear",
            "quince",
        ]

    def test_hostile_names_are_only_names(self, store: Store) -> None:
        for name in HOSTILE:
            store.create_collection(name)
            put(store, name, new_document(f"of {name}", "wing"))
        assert {collection.name for collection in store.collections()} == set(HOSTILE)
        for name in HOSTILE:
            assert [document.uri for document in store.documents(name)] == [f"of {name}"]
            assert postings(store, name, "wing").chunks == 1
        for name in HOSTILE[1:]:
            store.delete_collection(name)
        assert [collection.name for collection in store.collections()] == [HOSTILE[0]]

    @pytest.mark.parametrize("name", UNSTORABLE)
    def test_name_is_kept_exactly_or_refused(self, store: Store, name: str) -> None:
        try:
            created = store.create_collection(name)
        except RagkitError:
            assert list(store.collections()) == []
        else:
            assert created.name == name
            assert [collection.name for collection in store.collections()] == [name]

    def test_unknown_collection_is_not_found(self, store: Store) -> None:
        store.create_collection("notes")
        calls: list[Callable[[], object]] = [
            lambda: store.documents("nots"),
            lambda: store.known("nots"),
            lambda: store.delete_collection("nots"),
            lambda: store.delete_document("nots", 1),
            lambda: put(store, "nots", new_document("a", "one")),
            lambda: postings(store, "nots", "one"),
            lambda: nearest(store, "nots", 1),
        ]
        for call in calls:
            with pytest.raises(NotFoundError) as raised:
                call()
            assert "\n" not in str(raised.value)
        assert [collection.name for collection in store.collections()] == ["notes"]

    def test_deleting_a_collection_deletes_what_is_in_it_only(self, store: Store) -> None:
        for name in ("keep", "drop"):
            store.create_collection(name)
        remaining = put(store, "keep", new_document("a", "wing one"))
        gone = put(store, "drop", new_document("a", "wing two"))
        deleted_chunks = chunk_ids(store, "drop")
        store.delete_collection("drop")
        assert [collection.name for collection in store.collections()] == ["keep"]
        with pytest.raises(NotFoundError):
            store.document(gone.id)
        with pytest.raises(NotFoundError):
            store.text(gone.id)
        assert hit_texts(store, deleted_chunks) == []
        assert store.text(remaining.id) == "wing one"
        assert postings(store, "keep", "wing").chunks == 1
        store.create_collection("drop")
        assert list(store.documents("drop")) == []
        assert postings(store, "drop", "wing").chunks == 0
        assert nearest(store, "drop", 5) == []
