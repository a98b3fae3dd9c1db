"""What every `Reader` must find."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from ragkit.testing.conformance.store_steps import (
    HALF,
    HOSTILE,
    OTHER_SPACES,
    SPACE,
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
    from ragkit.types import EmbeddingSpace


class ReaderRules:
    def test_nearest_by_cosine_best_first(self, store: Store) -> None:
        store.create_collection("notes")
        rows = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0.6, 0.8, 0, 0], [-1, 0, 0, 0]], np.float32)
        new = new_document("a", "up", "right", "between", "left")
        store.put_document("notes", new, SPACE, rows)
        with store.snapshot() as reader:
            found = reader.nearest("notes", SPACE, unit(0), 4)
            texts = [hit.text for hit in reader.hits([chunk for chunk, _ in found])]
            assert texts == ["right", "between", "up", "left"]
            cosines = [cosine for _, cosine in found]
            assert cosines == pytest.approx([1, 0.6, 0, -1], abs=HALF)
            assert list(reader.nearest("notes", SPACE, unit(0), 2)) == list(found[:2])

    def test_nearest_returns_k_or_all(self, store: Store) -> None:
        for name in ("notes", "other", "empty"):
            store.create_collection(name)
        for n in range(7):
            put(store, "notes", new_document(f"n{n}", "wing", "tail"), axis=n)
            put(store, "other", new_document(f"o{n}", *["wing"] * 9), axis=n)
        assert [len(nearest(store, "notes", k)) for k in (1, 5, 14, 15, 2000)] == [1, 5, 14, 14, 14]
        assert nearest(store, "empty", 5) == []
        assert len({chunk for chunk, _ in nearest(store, "notes", 50)}) == 14

    def test_similarities_are_those_of_nearest(self, store: Store) -> None:
        store.create_collection("notes")
        rows = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0.6, 0.8, 0, 0]], np.float32)
        store.put_document("notes", new_document("a", "up", "right", "between"), SPACE, rows)
        with store.snapshot() as reader:
            found = dict(reader.nearest("notes", SPACE, unit(0), 3))
            best, second, worst = found
            absent = max(found) + 1
            some = reader.similarities(SPACE, unit(0), [worst, absent, best])
            assert dict(some) == pytest.approx({best: 1.0, worst: 0.0}, abs=HALF)
            assert dict(reader.similarities(SPACE, unit(0), [second])) == {second: found[second]}
            assert dict(reader.similarities(SPACE, unit(0), [])) == {}

    @pytest.mark.parametrize("other", OTHER_SPACES)
    def test_spaces_are_apart(self, store: Store, other: EmbeddingSpace) -> None:
        store.create_collection("notes")
        put(store, "notes", new_document("a", "old model"))
        row = np.eye(1, other.dimension, dtype=np.float32)
        store.put_document("notes", new_document("b", "new model"), other, row)
        with store.snapshot() as reader:
            old = [chunk for chunk, _ in reader.nearest("notes", SPACE, unit(0), 9)]
            new = [chunk for chunk, _ in reader.nearest("notes", other, row[0], 9)]
            assert [hit.text for hit in reader.hits([*old, *new])] == ["old model", "new model"]
        put(store, "notes", new_document("c", "old model"))
        store.put_document("notes", new_document("a", "old text, new model"), other, row)
        with store.snapshot() as reader:
            assert len(reader.nearest("notes", other, row[0], 9)) == 2
            assert len(reader.nearest("notes", SPACE, unit(0), 9)) == 1

    def test_postings_are_exact(self, store: Store) -> None:
        for name in ("notes", "other"):
            store.create_collection(name)
        put(store, "other", new_document("x", "wing wing wing wing"))
        put(store, "notes", new_document("a", "Wing, wings and the tail", "no such thing"))
        put(store, "notes", new_document("b", "航空公司的 wing"))
        with store.snapshot() as reader:
            found = reader.postings("notes", ["wing", "空公", "absent", "wing", "the"])
            chunks, frequencies, lengths = found.terms["wing"]
            assert (found.chunks, found.total_length) == (3, 5 + 3 + 5)
            assert set(found.terms) == {"wing", "空公", "the"}
            assert [hit.text for hit in reader.hits(chunks.tolist())] == [
                "Wing, wings and the tail",
                "航空公司的 wing",
            ]
        assert chunks.tolist() == sorted(chunks.tolist())
        assert (frequencies.tolist(), lengths.tolist()) == ([2, 1], [5, 5])
        types = [str(column.dtype) for column in found.terms["wing"]]
        assert types == ["int64", "int32", "int32"]
        assert [len(column) for column in found.terms["空公"]] == [1, 1, 1]

    def test_postings_of_no_terms_and_hostile_terms(self, store: Store) -> None:
        store.create_collection("notes")
        put(store, "notes", new_document("a", "wing"))
        assert postings(store, "notes").chunks == 1
        assert dict(postings(store, "notes").terms) == {}
        assert dict(postings(store, "notes", *HOSTILE[:6], "", "x" * 9000).terms) == {}

    def test_postings_over_many_documents(self, store: Store) -> None:
        store.create_collection("notes")
        for n in range(40):
            put(store, "notes", new_document(f"{n}", f"wing n{n}", "tail"))
        for document in list(store.documents("notes"))[::4]:
            store.delete_document("notes", document.id)
        found = postings(store, "notes", "wing", "tail")
        assert (found.chunks, found.total_length) == (60, 90)
        for term in ("wing", "tail"):
            chunks = found.terms[term][0].tolist()
            assert len(chunks) == len(set(chunks)) == 30
            assert chunks == sorted(chunks)
            assert len(hit_texts(store, chunks)) == 30

    def test_hits_come_in_the_given_order(self, store: Store) -> None:
        store.create_collection("notes")
        put(store, "notes", new_document("a", "one", "two", "three"))
        ids = chunk_ids(store, "notes")
        texts = dict(zip(ids, hit_texts(store, ids), strict=True))
        assert set(texts.values()) == {"one", "two", "three"}
        for order in (ids, ids[::-1], [ids[1]], []):
            assert hit_texts(store, order) == [texts[chunk] for chunk in order]
