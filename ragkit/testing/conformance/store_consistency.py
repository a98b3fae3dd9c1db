"""What snapshots see, and what several threads may do to a `Store` at once."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from ragkit.errors import NotFoundError
from ragkit.testing.conformance.store_steps import (
    SPACE,
    at_once,
    chunk_ids,
    hit_texts,
    nearest,
    postings,
    put,
    unit,
)
from ragkit.testing.corpus import new_document

if TYPE_CHECKING:
    from ragkit.contracts import Store


class ConsistencyRules:
    def test_snapshot_does_not_see_later_writes(self, store: Store) -> None:
        store.create_collection("notes")
        first = put(store, "notes", new_document("a", "wing"))
        put(store, "notes", new_document("b", "rudder"))
        chunks = chunk_ids(store, "notes")
        with store.snapshot() as reader:
            # The first question to the reader comes after these writes: none may be seen.
            put(store, "notes", new_document("a", "tail", "tail"), axis=1)
            put(store, "notes", new_document("c", "wing"))
            store.delete_document("notes", store.documents("notes")[1].id)
            store.create_collection("later")
            entries = reader.postings("notes", ["wing", "tail", "rudder"])
            assert (entries.chunks, set(entries.terms)) == (2, {"wing", "rudder"})
            assert {c for c, _ in reader.nearest("notes", SPACE, unit(0), 9)} == set(chunks)
            assert sorted(hit.text for hit in reader.hits(chunks)) == ["rudder", "wing"]
            with pytest.raises(NotFoundError):
                reader.postings("later", ["wing"])
        assert store.document(first.id).version == 2
        entries = postings(store, "notes", "wing", "tail", "rudder")
        assert (entries.chunks, set(entries.terms)) == (3, {"wing", "tail"})

    def test_snapshots_of_equal_moments_see_the_same(self, store: Store) -> None:
        for name in ("notes", "others"):
            store.create_collection(name)
            put(store, name, new_document("a", "wing"))

        def moments() -> tuple[object, object]:
            with store.snapshot() as reader:
                return reader.moment("notes"), reader.moment("others")

        notes, papers = moments()
        put(store, "others", new_document("b", "wing"))
        concurrent = moments()
        assert concurrent[0] == notes
        assert concurrent[1] != papers
        put(store, "notes", new_document("a", "tail"))
        replaced, _ = moments()
        store.delete_document("notes", store.documents("notes")[0].id)
        assert len({notes, replaced, moments()[0]}) == 3

    def test_snapshot_outlives_its_collection(self, store: Store) -> None:
        store.create_collection("notes")
        put(store, "notes", new_document("a", "wing"))
        ids = chunk_ids(store, "notes")
        with store.snapshot() as reader:
            assert reader.postings("notes", ["wing"]).chunks == 1
            store.delete_collection("notes")
            assert [hit.text for hit in reader.hits(ids)] == ["wing"]
        assert hit_texts(store, ids) == []

    def test_snapshot_ends_after_an_error(self, store: Store) -> None:
        store.create_collection("notes")
        for _ in range(30):  # more than a pool has connections
            with pytest.raises(ZeroDivisionError), store.snapshot():
                raise ZeroDivisionError
            with pytest.raises(NotFoundError), store.snapshot() as reader:
                reader.postings("nots", ["wing"])
        assert put(store, "notes", new_document("a", "wing")).version == 1

    def test_writers_of_one_document_take_turns(self, store: Store) -> None:
        store.create_collection("notes")

        def write(n: int) -> int:
            return put(store, "notes", new_document("a", *[f"wing w{n}"] * (n + 1))).version

        assert sorted(at_once([partial(write, n) for n in range(4)])) == [1, 2, 3, 4]
        (document,) = store.documents("notes")
        assert document.version == 4
        entries = postings(store, "notes", "wing", "w0", "w1", "w2", "w3")
        assert len(entries.terms) == 2
        assert entries.chunks == document.chunks == len(nearest(store, "notes", 99))
        assert entries.total_length == 2 * document.chunks

    def test_writers_of_different_documents_do_not_disturb_each_other(self, store: Store) -> None:
        store.create_collection("notes")

        def write(n: int) -> int:
            for turn in range(5):
                put(store, "notes", new_document(f"{n}-{turn}", f"wing {n}"))
            return n

        at_once([partial(write, n) for n in range(4)])
        entries = postings(store, "notes", "wing")
        assert (entries.chunks, entries.total_length, entries.terms["wing"].containing) == (
            20,
            40,
            20,
        )
        assert len(store.documents("notes")) == len(nearest(store, "notes", 99)) == 20

    def test_creating_a_collection_at_once_makes_one(self, store: Store) -> None:
        collections = at_once([lambda: store.create_collection("notes")] * 4)
        assert len({collection.id for collection in collections}) == 1
        assert len(store.collections()) == 1
