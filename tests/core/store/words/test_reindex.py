"""Words indexed by an earlier analyser are indexed anew: all of a collection's, or none."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from psycopg import Connection
from psycopg_pool import ConnectionPool

from ragkit.errors import NotFoundError
from ragkit.retrieve.words.search import search_words
from ragkit.store.connection.transactions import transaction
from ragkit.store.documents.history import History
from ragkit.store.postgres import PostgresStore
from ragkit.store.session import open_session
from ragkit.store.words import reindex
from ragkit.testing import new_document
from ragkit.text.analyse import ANALYSER, FIRST_ANALYSER
from ragkit.types import EmbeddingSpace

SPACE = EmbeddingSpace("model", "1", 4)
TEXTS = {"hant": "颱風後的臺灣，後勤部門。", "hans": "台风后的台湾。", "en": "The wings of 2024"}
Pool = ConnectionPool[Connection[Any]]


def put(store: PostgresStore, uri: str, text: str) -> int:
    document = new_document(uri, text)
    rows = np.ones((len(document.chunks), 4), np.float32)
    return store.put_document("c", document, SPACE, rows).id


def earlier(pool: Pool, name: str = FIRST_ANALYSER, **options: Any) -> PostgresStore:
    store = PostgresStore(pool, analyser=name, **options)
    store.create_collection("c")
    for uri, text in TEXTS.items():
        put(store, uri, text)
    return store


def search(store: PostgresStore, query: str) -> list[str]:
    with store.snapshot() as reader:
        best = search_words(reader, "c", query, 10).best
        return sorted(hit.uri for hit in reader.hits([chunk for chunk, _ in best]))


def index_of(pool: Pool) -> dict[str, object]:
    """What is indexed: each term's chunks, and the counts that scores depend on."""
    with transaction(pool, "default") as cursor:
        counts = cursor.execute(
            "SELECT sum(chunks), sum(terms), (SELECT count(*) FROM lexical_tombstone),"
            " (SELECT array_agg(terms ORDER BY document_id) FROM chunk) FROM lexical_segment"
        ).fetchone()
        terms = cursor.execute("SELECT DISTINCT term FROM lexical_posting").fetchall()
    return {"counts": counts, "terms": {term for (term,) in terms}}


def test_a_collection_from_before_finds_both_scripts_once_it_is_renewed(pool: Pool) -> None:
    store = earlier(pool)
    assert search(store, "颱風") == ["hant"]
    assert search(store, "台风") == ["hans"]
    assert store.renew_words("c")
    assert store.analyser("c") == ANALYSER
    for form in ("颱風", "台风", "台風"):
        assert search(store, form) == ["hans", "hant"]
    assert search(store, '"后的台湾"') == ["hans", "hant"]
    assert search(store, "wing") == ["en"]
    assert not store.renew_words("c")


def test_what_is_renewed_is_as_if_it_had_been_made_now(pool: Pool, fresh_database: str) -> None:
    store = earlier(pool)
    store.delete_document("c", put(store, "gone", "刪除了的檔案"))
    store.renew_words("c")
    renewed = index_of(pool)
    store.delete_collection("c")
    earlier(pool, ANALYSER)
    assert renewed == index_of(pool)


def test_a_collection_without_traditional_characters_keeps_its_index(pool: Pool) -> None:
    store = PostgresStore(pool, analyser=FIRST_ANALYSER)
    store.create_collection("c")
    put(store, "hans", TEXTS["hans"])
    segments = "SELECT array_agg(id) FROM lexical_segment"
    with transaction(pool, "default") as cursor:
        before = cursor.execute(segments).fetchone()
    assert store.renew_words("c")
    with transaction(pool, "default") as cursor:
        assert cursor.execute(segments).fetchone() == before
    assert search(store, "台風") == ["hans"]


def test_a_collection_that_names_no_analyser_has_the_first(pool: Pool) -> None:
    store = earlier(pool)
    with transaction(pool, "default") as cursor:
        cursor.execute("UPDATE collection SET settings = settings - 'analyser'")
    assert store.analyser("c") == FIRST_ANALYSER
    assert search(store, "颱風") == ["hant"]
    assert store.renew_words("c")
    assert search(store, "颱風") == ["hans", "hant"]


def test_words_of_a_segmenter_are_counted_anew(pool: Pool) -> None:
    pytest.importorskip("rjieba")
    store = earlier(pool, "nfkc-casefold+rjieba/1")
    store.renew_words("c")
    renewed = index_of(pool)
    store.delete_collection("c")
    earlier(pool, "nfkc-casefold+rjieba/2")
    assert renewed == index_of(pool)


def test_old_versions_are_renewed_with_their_collection(pool: Pool) -> None:
    store = earlier(pool, keep_versions=1)
    new, old = History(pool, "default").of(put(store, "hant", "新的內容"))
    assert new.to is None
    assert old.to is not None
    assert store.renew_words("c")
    assert search(store, "颱風") == ["hans"]
    then = store.as_of(old.to - timedelta(microseconds=1))
    assert search(then, "台风") == search(then, "颱風") == ["hans", "hant"]


def test_what_was_prepared_before_is_stored_by_the_new_analyser(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that made its terms before, and waits for the collection, makes them again."""
    store = earlier(pool)
    with open_session(pool, "default") as session:
        assert reindex.renew(session, session.value("SELECT id FROM collection"))
        writer = threading.Thread(target=put, args=(store, "new", "臺風"))
        writer.start()
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        while session.value(waiting) == 0:
            pass
    writer.join(60)
    assert search(store, "颱風") == ["hans", "hant", "new"]
    assert "臺風" not in index_of(pool)["terms"]  # type: ignore[operator]


def test_a_collection_that_is_not_there(pool: Pool) -> None:
    with pytest.raises(NotFoundError):
        PostgresStore(pool).renew_words("c")
