"""Ownership and sharing: what somebody may not read is, on every path, not there for him."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from ragkit.errors import NotFoundError, QueryError
from ragkit.filters.tree import parse
from ragkit.knowledge.base import KnowledgeBase
from ragkit.store.documents.browse import Browser
from ragkit.store.documents.file_list import FileList, Files
from ragkit.store.documents.metadata import MetadataKeys
from ragkit.store.documents.sharing import Change, Shares
from ragkit.store.postgres import PostgresStore
from ragkit.store.reader import PostgresReader
from ragkit.testing.answering import FakeGenerator
from ragkit.testing.corpus import fill, new_document
from ragkit.types import Span
from tests.core.access.conftest import ADA, HR, SHOWN, Place

Read = Callable[[PostgresStore, Place], object]


def reading(read: Callable[[PostgresReader, Place], object]) -> Read:
    def ask(store: PostgresStore, place: Place) -> object:
        with store.snapshot() as reader:
            return read(reader, place)

    return ask


def of_a_time(read: Callable[[PostgresReader, Place], object]) -> Read:
    return lambda store, place: reading(read)(store.as_of(datetime.now(UTC)), place)


# Every method of a store: how to read what is hidden by it, or why there is nothing to read.
STORE: Final[dict[str, Read | str]] = {
    "collections": lambda store, _: [one.name for one in store.collections()],
    "documents": lambda store, _: [one.uri for one in store.documents("open")],
    "document": lambda store, place: store.document(place.hidden[0]),
    "named": lambda store, _: store.named("open"),
    "known": lambda store, _: store.known("open"),
    "text": lambda store, place: store.text(place.hidden[0]),
    "metadata": lambda store, place: (store.metadata(place.hidden[0]), "hidden"),
    "sources": lambda store, place: store.sources([place.hidden[0]]),
    "analyser": lambda store, _: (store.analyser("closed"), "closed"),
    "active_space": lambda store, _: (store.active_space("closed"), "closed"),
    "delete_document": "test_nobody_deletes_what_he_may_not_read",
    "delete_collection": "test_nobody_deletes_what_he_may_not_read",
    "snapshot": "its methods are those of the reader",
    "as_of": "test_a_reader_of_a_time_shows_what_its_readers_may_read",
    "ending": lambda store, _: [one.uri for one in store.ending("open", "0.md")],
    "near": lambda store, _: store.near("open", "hiden0.md"),
    "attempts": "test_uploads_are_those_of_whoever_may_know_of_them",
    "create_collection": "test_a_name_that_is_taken_cannot_be_used",
    "add_collection": "test_a_name_that_is_taken_cannot_be_used",
    "rename_collection": "test_a_name_that_is_taken_cannot_be_used",
    "copies": "test_the_copies_of_a_hidden_document_are_hidden",
    "ingest_options": lambda store, _: (store.ingest_options("closed"), "closed"),
    "set_ingest_options": lambda store, _: (store.set_ingest_options("closed", {}), "closed"),
    "holders": "for `ragkit ingest`: of documents that all may read who read the collection",
    "alike": "for `ragkit ingest`: of documents that all may read who read the collection",
    "remove_document": "test_nobody_deletes_what_he_may_not_read",
    "drop_unused": "for `ragkit ingest`: deletes what is empty and nobody's",
    "delete_uris": "test_nobody_deletes_what_he_may_not_read",
    "put_copy": "it writes, for `ragkit ingest`",
    "put_document": "it writes, for the worker and for commands",
    "put_documents": "it writes, for the worker and for commands",
    "put_results": "it writes, for `ragkit ingest`",
    "put_source": "it writes, for the worker",
    "finish_load": "it writes",
    "set_effort": "it writes",
    "spaces": lambda store, _: (store.spaces.active("closed"), "closed"),
    "job_ledger": "for `ragkit ingest`",
    "renew_words": lambda store, _: (store.renew_words("closed"), "closed"),
    "languages": lambda store, _: (store.languages("closed"), "closed"),
    "in_space": lambda store, place: nearest_in(store.in_space(place.embedder.space), place),
}
READER: Final[dict[str, Callable[[PostgresReader, Place], object] | str]] = {
    "nearest": lambda reader, place: reader.nearest(
        "open", place.embedder.space, place.embedder.embed_query("merger"), 200
    ),
    "similarities": lambda reader, place: reader.similarities(
        place.embedder.space, place.embedder.embed_query("merger"), place.hidden_chunks
    ),
    "matching": lambda reader, _: reader.matching("open", parse("uri contains 'hidden'")),
    "allowed": lambda reader, place: reader.allowed(
        "open", place.hidden_chunks, parse("uri contains 'hidden'")
    ),
    "vectors": lambda reader, place: list(
        reader.vectors(place.embedder.space, place.hidden_chunks)
    ),
    "postings": lambda reader, _: dict(reader.postings("open", ["merger"]).terms),
    "hits": lambda reader, place: reader.hits(place.hidden_chunks),
    "around": lambda reader, place: list(reader.around(place.hidden_chunks, 1)),
    "excerpts": lambda reader, place: reader.excerpts([(place.hidden[0], Span(0, 20))]),
    "fields": lambda reader, _: (reader.fields("closed"), "closed"),
    "analyser": lambda reader, _: (reader.analyser("closed"), "closed"),
    "look_up": lambda reader, _: (reader.look_up("closed"), "closed"),
    "sample": lambda reader, place: reader.sample(
        "open", place.embedder.space, 200, parse("uri contains 'hidden'")
    ).tolist(),
    "trial": "for `ragkit index recall`, by `nearest`'s own restriction",
    "beginning_or_ending": "terms alone, whose postings are then asked for",
    "moment": "a snapshot's name",
}
BROWSER: Final[dict[str, Callable[[Browser, Place], object] | str]] = {
    "collections": lambda browser, _: browser.collections(limit=9),
    "collection": lambda browser, _: browser.collection("closed"),
    "documents": lambda browser, _: browser.documents("open", limit=99),
    "document": lambda browser, place: browser.document(place.hidden[0]),
    "excerpt": lambda browser, place: browser.excerpt(place.hidden[0], 0, 99),
}


def nearest_in(store: PostgresStore, place: Place) -> object:
    with store.snapshot() as reader:
        return reader.nearest(
            "open", place.embedder.space, place.embedder.embed_query("merger"), 200
        )


def public(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")}


def test_every_path_is_looked_at() -> None:
    """A new method needs a line above: how it keeps what is hidden, or why it need not."""
    assert public(PostgresStore) == STORE.keys()
    assert public(PostgresReader) == READER.keys()
    assert public(Browser) == BROWSER.keys()


def told(read: Callable[[], object], place: Place) -> bool:
    """Tell whether somebody learns of what is hidden."""
    try:
        found = read()
    except NotFoundError as error:
        return not str(error).startswith("There is no")
    said = repr(found)
    numbers = {str(number) for number in (*place.hidden_chunks, *place.hidden)}
    ids: set[str] = set()
    if isinstance(found, list | dict):
        ids = {str(one[0] if isinstance(one, tuple) else one) for one in found}
    return any(word in said for word in ("hidden", "closed", "merger")) or bool(ids & numbers)


@pytest.mark.parametrize("name", [name for name, read in STORE.items() if callable(read)])
def test_a_store_shows_what_its_readers_may_read(place: Place, name: str) -> None:
    read = STORE[name]
    assert callable(read)
    assert not told(lambda: read(place.store(ADA), place), place)
    assert told(lambda: read(place.store(HR), place), place)
    assert told(lambda: read(place.store(None), place), place)


@pytest.mark.parametrize("name", [name for name, read in READER.items() if callable(read)])
def test_a_reader_shows_what_its_readers_may_read(place: Place, name: str) -> None:
    read = READER[name]
    assert callable(read)
    ask = reading(read)
    if name == "sample":
        assert ask(place.store(ADA), place) == []
        assert len(ask(place.store(HR), place)) == 80  # type: ignore[arg-type]
        return
    assert not told(lambda: ask(place.store(ADA), place), place)
    assert told(lambda: ask(place.store(HR), place), place)
    assert told(lambda: ask(place.store(None), place), place)


@pytest.mark.parametrize("name", [name for name, read in READER.items() if callable(read)])
def test_a_reader_of_a_time_shows_what_its_readers_may_read(place: Place, name: str) -> None:
    read = READER[name]
    assert callable(read)
    ask = of_a_time(read)
    if name == "sample":
        assert ask(place.store(ADA), place) == []
        assert len(ask(place.store(HR), place)) == 80  # type: ignore[arg-type]
        return
    assert not told(lambda: ask(place.store(ADA), place), place)
    assert told(lambda: ask(place.store(HR), place), place)
    assert told(lambda: ask(place.store(None), place), place)


@pytest.mark.parametrize("name", BROWSER)
def test_listings_show_what_somebody_may_read(place: Place, name: str) -> None:
    read = BROWSER[name]
    assert callable(read)
    pool = place.database.pool
    assert not told(lambda: read(Browser(pool, "default", ADA), place), place)
    assert told(lambda: read(Browser(pool, "default", HR), place), place)


@pytest.mark.parametrize("uploads", [False, True])
def test_a_list_of_files_shows_what_somebody_may_read(place: Place, uploads: bool) -> None:
    def listed(readers: tuple[str, ...]) -> FileList:
        files = Files(place.database.pool, "default", readers)
        return files.page("open", "hidden", limit=99, uploads=uploads)

    assert not told(lambda: listed(ADA), place)
    assert told(lambda: listed(HR), place)


def test_what_is_counted_is_what_may_be_read(place: Place) -> None:
    def counted(readers: tuple[str, ...] | None) -> list[tuple[str, int, int]]:
        store = place.store(readers).collections()
        listed = Browser(place.database.pool, "default", readers).collections(limit=9)
        found = [(one.name, one.documents, one.chunks) for one in store]
        assert found == [(one.name, one.documents, one.chunks) for one in listed]
        return found

    assert counted(ADA) == [("open", 5, 5)]
    assert counted(HR) == counted(None) == [("closed", 1, 1), ("open", 45, 85)]
    found = Files(place.database.pool, "default", ADA).page("open", limit=2)
    assert (len(found.files), found.matched, found.all) == (2, 5, 5)


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_what_is_hidden_takes_nobodys_place(place: Place, mode: Any) -> None:
    """All forty hidden documents fit better; those that may be read come all the same."""
    found = place.knowledge(ADA).search("wombat", k=5, mode=mode)
    assert {hit.uri for hit in found} == {new.uri for new in SHOWN}
    best = place.knowledge(HR).search("wombat", k=5, mode=mode)
    assert any(hit.uri.startswith("hidden") for hit in best)


def test_scores_tell_nothing_of_what_is_hidden(place: Place) -> None:
    """BM25 counts as if the hidden documents had never been."""
    alone = place.database.store("alone")
    fill(alone, place.embedder, SHOWN, "open")
    kb = KnowledgeBase(alone, place.embedder, FakeGenerator(), collection="open")
    expected = {hit.uri: hit.score for hit in kb.search("wombat digs", mode="lexical")}
    found = place.knowledge(ADA).search("wombat digs", mode="lexical")
    assert len(expected) == 5
    assert {hit.uri: hit.score for hit in found} == pytest.approx(expected)


def test_a_closed_collection_is_no_collection(place: Place) -> None:
    absent = error(lambda: place.knowledge(ADA, "nowhere").search("wombat"))
    closed = error(lambda: place.knowledge(ADA, "closed").search("wombat"))
    assert closed == absent.replace("nowhere", "closed")
    assert error(lambda: place.store(ADA).text(place.hidden[0])) == error(
        lambda: place.store(ADA).text(999)
    ).replace("999", str(place.hidden[0]))


def test_an_unknown_field_tells_no_hidden_key(place: Place) -> None:
    from dataclasses import replace

    secret = replace(new_document("hidden.md", "x y"), metadata={"merger_target": "acme"})
    (document,) = fill(place.database.store("keys"), place.embedder, [secret], "open")
    fill(place.database.store("keys"), place.embedder, SHOWN[:1], "open")
    Shares(place.database.pool, "keys").document(document.id, Change(add=("group:hr",)))

    def asked(readers: tuple[str, ...] | None, where: str) -> str:
        with place.database.store("keys", readers=readers).snapshot() as reader:
            try:
                return str(len(reader.matching("open", parse(where))))
            except QueryError as said:
                return str(said)

    assert asked(HR, "merger_target = 'acme'") == asked(None, "merger_target = 'acme'") == "1"
    assert "use merger_target" in asked(HR, "merger_targte = 'acme'")
    refused = asked(ADA, "merger_target = 'acme'")
    assert refused == asked(ADA, "nowhere_target = 'acme'").replace("nowhere", "merger")
    assert "no document of the collection has the field" in refused


def test_a_declared_key_of_hidden_documents_alone_is_no_key(place: Place) -> None:
    from dataclasses import replace

    secret = replace(new_document("hidden.md", "x y"), metadata={"merger_price": "7", "year": "1"})
    plain = replace(SHOWN[0], metadata={"year": "2020"})
    store = place.database.store("declares")
    document, _ = fill(store, place.embedder, [secret, plain], "open")
    keys = MetadataKeys(place.database.pool, "declares")
    keys.declare("open", {"merger_price": "number", "year": "number"})
    Shares(place.database.pool, "declares").document(document.id, Change(add=("group:hr",)))

    def asked(readers: tuple[str, ...] | None, where: str) -> str:
        with place.database.store("declares", readers=readers).snapshot() as reader:
            try:
                return str(len(reader.matching("open", parse(where))))
            except QueryError as said:
                return str(said)

    assert asked(HR, "merger_price = 7") == asked(None, "merger_price = 7") == "1"
    assert "is a number" in asked(HR, "merger_price = 'x'")
    assert "is a number" in asked(ADA, "year = 'x'")
    assert asked(ADA, "year > 1") == "1"
    for value in ("7", "'x'"):
        refused = asked(ADA, f"merger_price = {value}")
        assert refused == asked(ADA, f"nowhere_price = {value}").replace("nowhere", "merger")
        assert "no document of the collection has the field" in refused
    assert "merger" not in asked(ADA, "yaer = 1")
    assert "merger" not in asked(ADA, "merger_prize = 1").replace("merger_prize", "")


def error(ask: Callable[[], object]) -> str:
    with pytest.raises(NotFoundError) as caught:
        ask()
    return str(caught.value)
