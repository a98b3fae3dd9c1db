"""What every `Store` must do when documents are added, replaced and deleted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ragkit.errors import NotFoundError, RagkitError
from ragkit.testing.conformance.store_steps import (
    HOSTILE,
    SPACE,
    chunk_ids,
    hit_texts,
    nearest,
    postings,
    put,
    terms_found,
    unit,
)
from ragkit.testing.corpus import new_document
from ragkit.types import Chunk, Document, NewDocument, Page, Span

if TYPE_CHECKING:
    from ragkit.contracts import Store


class DocumentRules:
    def test_what_stands_over_a_chunk_and_what_is_shown_for_it(self, store: Store) -> None:
        store.create_collection("notes")
        text = "| 零件 | weight |\n| wing | 7 |\n| tail 🛩 | 9 |"
        lead = Span(0, 15)
        chunks = (
            Chunk(0, 0, 28, 4, parent=Span(0, len(text))),
            Chunk(1, 29, len(text), 4, lead=lead, parent=Span(0, len(text))),
        )
        document = replace(new_document("a", text), chunks=chunks)
        put(store, "notes", document)
        with store.snapshot() as reader:
            first, second = sorted(chunk_ids(store, "notes"))
            first_hit, second_hit = reader.hits([first, second])
            assert (first_hit.lead, first_hit.parent) == ("", Span(0, len(text)))
            assert (second_hit.lead, second_hit.parent) == ("| 零件 | weight |", Span(0, len(text)))
            assert second_hit.text == "| tail 🛩 | 9 |"
            assert tuple(reader.around([second], 5)[second]) == chunks
        of = postings(store, "notes", "weight", "tail", "wing").terms
        assert {term: first_hit.containing for term, first_hit in of.items()} == {
            "weight": 2,
            "tail": 1,
            "wing": 1,
        }

    def test_chunks_all_over_a_long_text(self, store: Store) -> None:
        store.create_collection("notes")
        for uri, unit_ in (("plain", "wing "), ("mixed", "wing 航空🛩 "), ("late", "wing ")):
            text = unit_ * 2000 + ("é" if uri == "late" else "")
            last = len(text) // 100 - 1
            chunks = tuple(Chunk(n, n * 100, n * 100 + 90, 9) for n in range(last))
            end = Chunk(last, last * 100, len(text), 9)
            put(store, "notes", replace(new_document(uri, text), chunks=(*chunks, end)))
            with store.snapshot() as reader:
                hits = [hit for hit in reader.hits(chunk_ids(store, "notes")) if hit.uri == uri]
            assert len(hits) == last + 1
            assert all(hit.text == text[hit.start : hit.end] for hit in hits)

    def test_pages_keep_their_labels(self, store: Store) -> None:
        store.create_collection("notes")
        pages = (Page(0, 1, "iv"), Page(4, 2), Page(9, 3, "附录"))
        labelled = put(store, "notes", replace(new_document("a", "some text here"), pages=pages))
        assert pages_of(store, labelled) == pages
        plain = tuple(replace(page, label="") for page in pages)
        put(store, "notes", replace(new_document("a", "some text here"), pages=plain))
        assert pages_of(store, labelled) == plain

    def test_stored_document_is_what_was_given(self, store: Store) -> None:
        store.create_collection("notes")
        text = "🛩 Ünï\u0301 航空公司\ttab\n\n\u202eאבג \ufffd"
        written = NewDocument(
            uri="файл 🛩 %s '\".txt",
            content_hash="hash",
            fingerprint="print",
            text=text,
            chunks=(
                Chunk(0, 0, 8, 3, page=7, headings=("Über", "第一章", "'; --")),
                Chunk(1, 6, len(text), 9),
            ),
            title="Title 标题",
            language="zh",
            media_type="text/plain",
            metadata={"key'; --": "value {0} %s", "": "空"},
            pages=(Page(0, 7), Page(9, 8)),
        )
        stored = put(store, "notes", written)
        assert stored == Document(
            id=stored.id,
            uri=written.uri,
            title=written.title,
            collection="notes",
            language="zh",
            version=1,
            chunks=2,
            chars=len(text),
        )
        assert store.document(stored.id) == stored
        assert list(store.documents("notes")) == [stored]
        assert store.text(stored.id) == text
        assert pages_of(store, stored) == (Page(0, 7), Page(9, 8))
        assert store.sources([stored.id, 987_654])[stored.id][0] == text
        assert store.sources([987_654]) == store.sources([]) == {}
        assert dict(store.known("notes")) == {written.uri: ("hash", "print")}
        assert dict(store.known("notes", ["other", written.uri])) == {
            written.uri: ("hash", "print")
        }
        assert dict(store.known("notes", ["other"])) == dict(store.known("notes", [])) == {}
        with store.snapshot() as reader:
            ids = [chunk for chunk, _ in reader.nearest("notes", SPACE, unit(0), 2)]
            first, second = sorted(reader.hits(ids), key=lambda hit: hit.start)
        assert (first.text, first.start, first.end, first.page) == (text[0:8], 0, 8, 7)
        assert first.headings == ("Über", "第一章", "'; --")
        assert (second.text, second.page, second.headings) == (text[6:], None, ())
        for hit in (first, second):
            assert (hit.document, hit.uri, hit.title) == (stored.id, written.uri, written.title)
            assert hit.score == 0

    def test_document_without_chunks(self, store: Store) -> None:
        store.create_collection("notes")
        stored = put(store, "notes", new_document("empty"))
        assert (stored.chunks, stored.chars) == (0, 0)
        assert store.text(stored.id) == ""
        assert nearest(store, "notes", 3) == []
        assert postings(store, "notes", "wing").chunks == 0

    def test_documents_are_listed_by_uri(self, store: Store) -> None:
        store.create_collection("notes")
        for uri in ("c", "a", "b"):
            put(store, "notes", new_document(uri, "one"))
        assert [document.uri for document in store.documents("notes")] == ["a", "b", "c"]

    def test_very_long_uri_and_long_chunk(self, store: Store) -> None:
        store.create_collection("notes")
        # Random-looking, so that no compression makes it fit into an index entry.
        uri = "/" + "".join(chr(0x4E00 + (i * i * 7919) % 20_000) for i in range(5000))
        text = "x" * 100_000 + " 航空"
        stored = put(store, "notes", new_document(uri, text))
        assert store.document(stored.id).uri == uri
        assert hit_texts(store, chunk_ids(store, "notes")) == [text]
        assert put(store, "notes", new_document(uri, "new")).version == 2

    def test_uris_are_compared_exactly(self, store: Store) -> None:
        store.create_collection("notes")
        for uri in HOSTILE:
            assert put(store, "notes", new_document(uri, uri)).version == 1
        assert {document.uri for document in store.documents("notes")} == set(HOSTILE)
        assert set(store.known("notes")) == set(HOSTILE)
        assert set(hit_texts(store, chunk_ids(store, "notes"))) == set(HOSTILE)

    def test_same_uri_in_two_collections_is_two_documents(self, store: Store) -> None:
        for name in ("left", "right"):
            store.create_collection(name)
        first = put(store, "left", new_document("a", "wing"))
        second = put(store, "right", new_document("a", "tail"))
        assert first.id != second.id
        assert (first.version, second.version) == (1, 1)
        assert terms_found(store, "left", "wing", "tail") == {"wing"}
        assert terms_found(store, "right", "wing", "tail") == {"tail"}
        with pytest.raises(NotFoundError):
            store.delete_document("left", second.id)
        assert store.text(second.id) == "tail"

    def test_unknown_document_is_not_found(self, store: Store) -> None:
        store.create_collection("notes")
        calls: list[Callable[[], object]] = [
            lambda: store.document(987_654),
            lambda: store.text(987_654),
            lambda: store.delete_document("notes", 987_654),
        ]
        for call in calls:
            with pytest.raises(NotFoundError):
                call()

    def test_replacing_leaves_nothing_of_the_old_version(self, store: Store) -> None:
        store.create_collection("notes")
        put(store, "notes", new_document("other", "rudder"))
        first = put(store, "notes", new_document("a", "wing one", "wing two", "wing three"))
        replaced = [c for c in chunk_ids(store, "notes") if hit_texts(store, [c]) != ["rudder"]]
        update = replace(new_document("a", "tail one"), content_hash="new", title="New")
        second = put(store, "notes", update, axis=2)
        assert (second.version, second.chunks, second.title) == (first.version + 1, 1, "New")
        assert [document.uri for document in store.documents("notes")] == ["a", "other"]
        assert store.document(second.id) == second
        assert store.text(second.id) == "tail one"
        assert store.known("notes")["a"] == ("new", "test")
        assert len(replaced) == 3
        assert hit_texts(store, replaced) == []
        assert sorted(hit_texts(store, chunk_ids(store, "notes"))) == ["rudder", "tail one"]
        entries = postings(store, "notes", "wing", "one", "tail", "rudder")
        assert set(entries.terms) == {"one", "tail", "rudder"}
        assert (entries.chunks, entries.total_length) == (2, 3)
        assert [c.chunks for c in store.collections()] == [2]

    def test_many_versions(self, store: Store) -> None:
        store.create_collection("notes")
        for version in range(1, 31):
            words = [f"wing v{version}"] * (version % 3 + 1)
            assert put(store, "notes", new_document("a", *words)).version == version
            entries = postings(store, "notes", "wing", f"v{version - 1}")
            assert set(entries.terms) == {"wing"}
            assert entries.chunks == entries.terms["wing"].containing == version % 3 + 1
            assert entries.total_length == 2 * (version % 3 + 1)

    def test_refused_replacement_leaves_the_old_version(self, store: Store) -> None:
        store.create_collection("notes")
        first = put(store, "notes", new_document("a", "wing one", "wing two"))
        update = new_document("a", "tail one", "tail two")
        for shape in ((1, 4), (3, 4), (2, 3)):
            with pytest.raises((RagkitError, ValueError, AssertionError)):
                store.put_document("notes", update, SPACE, np.ones(shape, np.float32))
            assert store.document(first.id) == first
            assert store.text(first.id) == "wing one\n\nwing two"
            assert terms_found(store, "notes", "wing", "tail") == {"wing"}
            assert len(nearest(store, "notes", 9)) == 2

    def test_deleting_a_document_deletes_it_everywhere(self, store: Store) -> None:
        store.create_collection("notes")
        remaining = put(store, "notes", new_document("a", "wing one"))
        gone = put(store, "notes", new_document("b", "wing tail two", "tail"), axis=1)
        deleted = [c for c in chunk_ids(store, "notes") if "tail" in hit_texts(store, [c])[0]]
        store.delete_document("notes", gone.id)
        assert [document.id for document in store.documents("notes")] == [remaining.id]
        assert list(store.known("notes")) == ["a"]
        assert len(deleted) == 2
        assert hit_texts(store, deleted) == []
        assert not {chunk for chunk, _ in nearest(store, "notes", 9)} & set(deleted)
        entries = postings(store, "notes", "wing", "tail")
        assert (entries.chunks, entries.total_length, set(entries.terms)) == (1, 2, {"wing"})
        for call in (store.document, store.text):
            with pytest.raises(NotFoundError):
                call(gone.id)
        with pytest.raises(NotFoundError):
            store.delete_document("notes", gone.id)
        back = put(store, "notes", new_document("b", "tail"))
        assert back.version == 1
        assert postings(store, "notes", "tail").chunks == 2


def pages_of(store: Store, document: Document) -> tuple[Page, ...]:
    """Return a document's pages."""
    _, pages = store.sources([document.id])[document.id]
    return tuple(pages)
