"""What every `Reader` must find."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ragkit.errors import NotFoundError, OtherModelError
from ragkit.retrieve.words.bm25 import occurrences
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
from ragkit.text.analyse import ANALYSER
from ragkit.types import Span

if TYPE_CHECKING:
    from ragkit.contracts import Store
    from ragkit.types import EmbeddingSpace


class ReaderRules:
    def test_nearest_by_cosine_best_first(self, store: Store) -> None:
        store.create_collection("notes")
        rows = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0.6, 0.8, 0, 0], [-1, 0, 0, 0]], np.float32)
        document = new_document("a", "up", "right", "between", "left")
        store.put_document("notes", document, SPACE, rows)
        with store.snapshot() as reader:
            ranking = reader.nearest("notes", SPACE, unit(0), 4)
            texts = [hit.text for hit in reader.hits([chunk for chunk, _ in ranking])]
            assert texts == ["right", "between", "up", "left"]
            cosines = [cosine for _, cosine in ranking]
            assert cosines == pytest.approx([1, 0.6, 0, -1], abs=HALF)
            assert list(reader.nearest("notes", SPACE, unit(0), 2)) == list(ranking[:2])

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
            ranking = dict(reader.nearest("notes", SPACE, unit(0), 3))
            best, second, worst = ranking
            absent = max(ranking) + 1
            cosines = reader.similarities(SPACE, unit(0), [worst, absent, best])
            assert dict(cosines) == pytest.approx({best: 1.0, worst: 0.0}, abs=HALF)
            assert dict(reader.similarities(SPACE, unit(0), [second])) == {second: ranking[second]}
            assert dict(reader.similarities(SPACE, unit(0), [])) == {}

    @pytest.mark.parametrize("other", OTHER_SPACES)
    def test_spaces_never_mix(self, store: Store, other: EmbeddingSpace) -> None:
        row = np.eye(1, other.dimension, dtype=np.float32)
        for name in ("notes", "new"):
            store.create_collection(name)
            assert store.active_space(name) is None
        put(store, "notes", new_document("a", "old model"))
        store.put_document("new", new_document("a", "new model"), other, row)
        assert (store.active_space("notes"), store.active_space("new")) == (SPACE, other)
        for document in ("a", "b"):
            with pytest.raises(OtherModelError):
                store.put_document("notes", new_document(document, "new model"), other, row)
        with store.snapshot() as reader:
            with pytest.raises(OtherModelError):
                reader.nearest("notes", other, row[0], 9)
            of_old = [chunk for chunk, _ in reader.nearest("notes", SPACE, unit(0), 9)]
            of_new = [chunk for chunk, _ in reader.nearest("new", other, row[0], 9)]
            assert [hit.text for hit in reader.hits([*of_old, *of_new])] == [
                "old model",
                "new model",
            ]

    def test_an_emptied_collection_takes_any_space(self, store: Store) -> None:
        space = OTHER_SPACES[0]
        store.create_collection("notes")
        document = put(store, "notes", new_document("a", "old model"))
        store.delete_document("notes", document.id)
        assert store.active_space("notes") is None
        row = np.eye(1, space.dimension, dtype=np.float32)
        store.put_document("notes", new_document("b", "new model"), space, row)
        assert store.active_space("notes") == space

    def test_postings_are_exact(self, store: Store) -> None:
        for name in ("notes", "other"):
            store.create_collection(name)
        put(store, "other", new_document("x", "wing wing wing wing"))
        put(store, "notes", new_document("a", "Wing, wings and the tail", "no such thing"))
        put(store, "notes", new_document("b", "航空公司的 wing"))
        with store.snapshot() as reader:
            entries = reader.postings("notes", ["wing", "空公", "absent", "wing", "the"])
            chunks, frequencies, lengths = occurrences(entries, "wing")
            assert (entries.chunks, entries.total_length) == (3, 5 + 3 + 5)
            assert set(entries.terms) == {"wing", "空公", "the"}
            assert [hit.text for hit in reader.hits(chunks.tolist())] == [
                "Wing, wings and the tail",
                "航空公司的 wing",
            ]
        assert chunks.tolist() == sorted(chunks.tolist())
        assert (frequencies.tolist(), lengths.tolist()) == ([2, 1], [5, 5])
        types = [str(column.dtype) for column in occurrences(entries, "wing")]
        assert types == ["int64", "int32", "int32"]
        assert [len(column) for column in occurrences(entries, "空公")] == [1, 1, 1]

    def test_pairs_of_a_character(self, store: Store) -> None:
        store.create_collection("notes")
        put(store, "notes", new_document("a", "纳税人和税率", "税"))
        put(store, "notes", new_document("b", "合同法", "rate of tax"))
        with store.snapshot() as reader:
            assert reader.analyser("notes") == ANALYSER
            pairs = sorted(reader.beginning_or_ending("notes", "税"))
            assert pairs == sorted(["税", "税人", "税率", "纳税", "和税"])
            assert reader.beginning_or_ending("notes", "法") == ["同法"]
            assert reader.beginning_or_ending("notes", "马") == []

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
        entries = postings(store, "notes", "wing", "tail")
        assert (entries.chunks, entries.total_length) == (60, 90)
        for term in ("wing", "tail"):
            chunks = occurrences(entries, term)[0].tolist()
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

    def test_around_a_chunk_stand_its_neighbours(self, store: Store) -> None:
        store.create_collection("notes")
        document = new_document("a", "zero", "one", "two", "three", "four")
        chunks = (
            *document.chunks[:2],
            replace(document.chunks[2], headings=("A", "B")),
            *document.chunks[3:],
        )
        put(store, "notes", replace(document, chunks=chunks))
        put(store, "notes", new_document("b", "zero", "one"))
        with store.snapshot() as reader:
            of_a = {h.text: h.chunk for h in reader.hits(chunk_ids(store, "notes")) if h.uri == "a"}
            neighbours = reader.around([of_a["two"], of_a["four"], 10**12], 1)
            assert set(neighbours) == {of_a["two"], of_a["four"]}
            assert list(neighbours[of_a["two"]]) == list(chunks[1:4])
            assert list(neighbours[of_a["four"]]) == list(chunks[3:])
            assert list(reader.around([of_a["two"]], 0)[of_a["two"]]) == [chunks[2]]
            assert list(reader.around([of_a["zero"]], 10**6)[of_a["zero"]]) == list(chunks)
            assert dict(reader.around([], 3)) == {}

    def test_excerpts_are_cut_by_characters(self, store: Store) -> None:
        store.create_collection("notes")
        first = put(store, "notes", new_document("a", "wing 🛩 航空", "tail"))
        second = put(store, "notes", new_document("b", "fin"))
        places = [
            (second.id, Span(0, 3)),
            (first.id, Span(5, 9)),
            (10**12, Span(0, 3)),
            (first.id, Span(0, 99)),
        ]
        with store.snapshot() as reader:
            cut = list(reader.excerpts(places))
            assert cut == ["fin", "🛩 航空", "", "wing 🛩 航空\n\ntail"]
            assert list(reader.excerpts([])) == []

    def test_fields_are_those_of_the_collections_documents(self, store: Store) -> None:
        for name in ("notes", "other"):
            store.create_collection(name)
        of_each = ({"team": "hr", "year": "2023"}, {"team": "hr"}, {"team": "it", "a.b": "100% %s"})
        for n, fields in enumerate(of_each):
            document = replace(new_document(str(n), "wing"), language="en", media_type=f"t/{n}")
            put(store, "notes", replace(document, metadata=fields))
        put(store, "other", replace(new_document("x", "wing"), metadata={"else": "1"}))
        with store.snapshot() as reader:
            result = reader.fields("notes")
            with pytest.raises(NotFoundError):
                reader.fields("absent")
        assert (list(result.languages), sorted(result.media_types)) == (
            ["en"],
            ["t/0", "t/1", "t/2"],
        )
        assert dict(result.keys) == {"team": None, "year": None, "a.b": None}
        assert list(result.values["team"]) == ["hr", "it"]
        assert list(result.values["a.b"]) == ["100% %s"]
