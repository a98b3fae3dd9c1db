"""The word index in PostgreSQL: what is packed, merged, kept in memory and brought up to date."""

from __future__ import annotations

import struct
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from threading import Event, Thread
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import Connection
from psycopg.pq import TransactionStatus
from psycopg_pool import ConnectionPool

from ragkit.retrieve.words.bm25 import occurrences
from ragkit.store.connection.connect import connect, open_pool
from ragkit.store.connection.migrate import migrate
from ragkit.store.open import open_database
from ragkit.store.session import Session, open_session
from ragkit.store.words import postings, segment_rows, segment_state, segments
from ragkit.store.words.merge import MAX_EMPTY, MAX_SEGMENTS
from ragkit.store.words.segment_rows import CACHE, MAX_BYTES, OVERHEAD
from ragkit.system.lru_cache import LruCache
from ragkit.text.postings import Posting, Postings, Segment
from ragkit.text.terms import Terms
from tests.core.store.conftest import Tenanted

Pool = ConnectionPool[Connection[Any]]
OWN = "default"


@pytest.fixture(scope="module")
def database(database_url: str) -> Iterator[Pool]:
    with psycopg.connect(database_url, autocommit=True) as server:
        server.execute("CREATE DATABASE postings TEMPLATE template0")
        address = database_url.replace("/postgres?", "/postings?")
        with connect(address) as conn:
            migrate(conn)
            conn.execute(
                "INSERT INTO collection (tenant, name) VALUES ('default', 'c'), ('b', 'c')"
            )
        opened = open_pool(address)
        yield opened
        opened.close()
        server.execute("DROP DATABASE postings WITH (FORCE)")


@pytest.fixture
def pool(database: Pool) -> Pool:
    """The module's database, with an empty word index."""
    with database.connection() as conn:
        conn.execute("TRUNCATE lexical_segment, lexical_posting, lexical_tombstone")
    return database


def add(pool: Pool, chunks: dict[int, str], collection: int = 1, tenant: str = OWN) -> None:
    terms = Terms.of([text.split() for text in chunks.values()])
    with open_session(pool, tenant) as session:
        postings.add_segment(session, collection, list(chunks), terms)


def bury(pool: Pool, chunks: dict[int, str]) -> None:
    with open_session(pool, OWN) as session:
        for chunk, text in chunks.items():
            session.cursor.execute(
                "INSERT INTO lexical_tombstone (tenant, collection_id, chunk_id, terms)"
                " VALUES (%s, 1, %s, %s)",
                (OWN, chunk, len(text.split())),
            )
        segment_rows.add_empty(session, 1)


def merge(pool: Pool) -> None:
    with pool.connection() as conn:
        postings.merge(conn, OWN, 1)


def read(pool: Pool, *terms: str, tenant: str = OWN) -> Postings:
    with open_session(pool, tenant, snapshot=True) as session:
        return read_in(session, terms, 1 if tenant == OWN else 2)


def read_in(session: Session, terms: Sequence[str], collection: int = 1) -> Postings:
    current = segment_state.state(session, collection)
    return postings.read(session, collection, terms, current)


def assert_holds(pool: Pool, chunks: dict[int, str], tenant: str = OWN) -> None:
    """Compare postings with a count over the texts."""
    counts = {chunk: Counter(text.split()) for chunk, text in chunks.items()}
    found = read(pool, "nowhere", *{t for count in counts.values() for t in count}, tenant=tenant)
    assert "nowhere" not in found.terms
    assert found.chunks == len(chunks)
    assert found.total_length == sum(sum(count.values()) for count in counts.values())
    for term in {term for count in counts.values() for term in count}:
        expected = [
            (chunk, count[term], sum(count.values()))
            for chunk, count in sorted(counts.items())
            if count[term]
        ]
        columns = (column.tolist() for column in occurrences(found, term))
        assert list(zip(*columns, strict=True)) == expected, term
        assert found.terms[term].containing == len(expected)


PLACES = st.lists(
    st.tuples(st.integers(0, 99), st.integers(1, 300)), min_size=1, unique_by=lambda p: p[0]
)


@given(rows=PLACES, size=st.sampled_from([100, 101, 5000]))
def test_what_is_packed_is_read_back(rows: list[tuple[int, int]], size: int) -> None:
    rows.sort()
    places, frequencies = (np.array(column) for column in zip(*rows, strict=True))
    lengths = np.arange(1, size + 1, dtype=np.int32)
    data = segments.pack_posting(places.astype(np.int32), frequencies, size)
    found = segments.unpack_posting(data, lengths)
    assert [column.tolist() for column in found.listed()] == [places.tolist(), frequencies.tolist()]
    for frequency, length in zip(frequencies, lengths[places], strict=True):
        assert ((found.peaks[0] >= frequency) & (found.peaks[1] <= length)).any()


def test_a_term_of_most_chunks_takes_a_byte_a_chunk_and_a_rare_one_five_a_place() -> None:
    every, one = np.arange(1000, dtype=np.int32), np.array([7], np.int32)
    assert len(segments.pack_posting(every, np.ones(1000, np.int64), 1000)) == 1 + 1000
    assert len(segments.pack_posting(one, np.array([255]), 1000)) == 1 + 5
    assert len(segments.pack_posting(one, np.array([256]), 1000)) == 1 + 8


@given(ids=st.lists(st.integers(0, 40), unique=True, min_size=1))
def test_ids_are_kept_as_runs(ids: list[int]) -> None:
    ids = sorted(number + (1 << 40) for number in ids)
    lengths = np.arange(len(ids)) % 7
    runs, packed = segments.pack_segment(np.array(ids, np.int64), lengths)
    found = segments.unpack_segment(runs, packed)
    assert (found.ids.tolist(), found.lengths.tolist()) == (ids, lengths.tolist())
    assert len(segments.pack_segment(np.arange(500), np.arange(500))[0]) == 16


def test_the_same_bytes_are_written_with_a_document_and_by_a_merge() -> None:
    found = segments.invert(Terms.of([["a", "b", "a"], ["b"], ["a"] * 300]))
    assert found["b"] == segments.pack_posting(np.array([0, 1]), np.array([1, 1]), 3)
    assert found["a"] == segments.pack_posting(np.array([0, 2]), np.array([2, 300]), 3)


@given(
    texts=st.lists(st.lists(st.sampled_from("aaaabbcd"), max_size=8), min_size=2, max_size=12),
    cut=st.integers(1, 11),
    size=st.sampled_from([64, 1000]),
)
def test_rows_move_together_as_they_do_alone(texts: list[list[str]], cut: int, size: int) -> None:
    repeated = [text * 40 if n % 5 == 4 else text for n, text in enumerate(texts)] * 8
    parts = {7: repeated[:cut], 9: repeated[cut:]}
    to = np.arange(len(repeated), dtype=np.int32)[::-1].copy()
    to[::3] = -1
    where = {7: to[:cut], 9: to[cut:]}
    rows = sorted(
        (term, number, data)
        for number, part in parts.items()
        for term, data in segments.invert(Terms.of(part)).items()
    )
    moved = dict(segments.move_rows(rows, where, size + len(repeated)))
    for term in {row[0] for row in rows}:
        expected = sorted(
            (int(to[n]), text.count(term))
            for n, text in enumerate(repeated)
            if to[n] >= 0 and term in text
        )
        assert (term in moved) == bool(expected)
        if expected:
            places, frequencies = segments.columns(moved[term])
            assert list(zip(places.tolist(), frequencies.tolist(), strict=True)) == expected
            assert moved[term] == segments.pack_posting(places, frequencies, size + len(repeated))


def test_merges_keep_every_living_chunk_and_drop_the_others(pool: Pool) -> None:
    words = ["wing", "tail", "航空", "the", "of", "rare"]
    drawn = np.random.default_rng(3)
    living: dict[int, str] = {}
    for step in range(60):  # ids of two writers interleave
        ids = [step * 10 + n for n in (0, 2, 4)] + [step * 10 + 13 + n for n in (0, 2)]
        new = {i: " ".join(drawn.choice(words, drawn.integers(1, 9))) for i in ids}
        add(pool, new)
        living |= new
        if step % 20 == 19:
            dead = {i: living.pop(i) for i in list(living)[::3]}
            bury(pool, dead)
            assert_holds(pool, living)
            merge(pool)
            assert_holds(pool, living)
    with pool.connection() as conn:
        row = conn.execute(
            "SELECT (SELECT count(*) FROM lexical_segment), (SELECT count(*) FROM lexical_posting),"
            " (SELECT count(*) FROM lexical_tombstone)"
        ).fetchone()
    assert row is not None
    assert row[0] <= postings.MAX_SEGMENTS
    assert row[2] == 0
    assert row[1] <= len(words) * row[0]


def test_a_merge_is_a_transaction_of_its_own_for_its_tenant(tenanted: Tenanted) -> None:
    """Row-level security shows nobody's rows to one that does not say for whom it is."""
    with open_database(tenanted.settings) as database:
        owner = database.store("one").create_collection("merged").id
        for n in range(postings.MAX_SEGMENTS + 1):
            add(database.pool, {n: "wing tail"}, owner, "one")
        with database.pool.connection() as conn:
            postings.merge(conn, "one", owner)
            assert conn.info.transaction_status == TransactionStatus.IDLE
        with open_session(database.pool, "one") as session:
            query = "SELECT count(*) FROM lexical_segment WHERE collection_id = %s"
            assert session.cursor.execute(query, (owner,)).fetchone() == (1,)


def test_a_collection_that_is_gone_altogether_leaves_no_segment(pool: Pool) -> None:
    add(pool, {1: "wing", 2: "tail"})
    bury(pool, {1: "wing", 2: "tail"})
    merge(pool)
    assert_holds(pool, {})
    with pool.connection() as conn:
        assert conn.execute("SELECT count(*) FROM lexical_segment").fetchone() == (0,)


def test_large_segments_are_searched_beside_the_small_ones_joined(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment_state, "_SMALL_CHUNKS", 5)
    chunks = {n: f"wing w{n % 4}" for n in range(20)}
    for first, last in ((0, 8), (8, 9), (9, 11), (11, 20)):
        add(pool, {n: chunks[n] for n in range(first, last)})
    dead = {n: chunks.pop(n) for n in (3, 8, 12)}
    bury(pool, dead)
    found = read(pool, "wing", "w0", "w1", "nowhere")
    assert [len(segment.ids) for segment in found.segments] == [9, 8, 3]
    assert set(found.terms) == {"wing", "w0", "w1"}
    assert found.terms["wing"].containing == 17
    assert occurrences(found, "w0")[0].tolist() == [n for n in chunks if n % 4 == 0]


def test_what_is_kept_in_memory_follows_every_write(pool: Pool) -> None:
    chunks = {1: "wing tail", 2: "wing"}
    add(pool, chunks)
    assert_holds(pool, chunks)
    before = CACHE.size
    assert_holds(pool, chunks)
    assert CACHE.size == before
    chunks[3] = "tail tail"
    add(pool, {3: chunks[3]})
    assert_holds(pool, chunks)
    bury(pool, {1: chunks.pop(1)})
    assert_holds(pool, chunks)
    merge(pool)
    assert_holds(pool, chunks)


def test_a_write_is_found_in_its_own_transaction_and_by_nobody_else_before_its_end(
    pool: Pool,
) -> None:
    with open_session(pool, OWN) as session:
        postings.add_segment(session, 1, [5], Terms.of([["wing"]]))
        assert read_in(session, ["wing"]).terms["wing"].containing == 1
        assert read(pool, "wing").chunks == 0
        session.cursor.connection.rollback()
        assert read_in(session, ["wing"]).chunks == 0
    assert read(pool, "wing").chunks == 0


def test_tenants_do_not_see_each_others_words(pool: Pool) -> None:
    add(pool, {1: "wing"})
    add(pool, {2: "wing wing"}, collection=2, tenant="b")
    assert_holds(pool, {1: "wing"})
    assert_holds(pool, {2: "wing wing"}, tenant="b")


def test_readers_are_served_while_segments_are_merged(pool: Pool) -> None:
    chunks = {n: f"wing w{n % 5}" for n in range(200)}
    for n, text in chunks.items():
        add(pool, {n: text})
    stop, wrong = Event(), []

    def look() -> None:
        while not stop.is_set():
            found = read(pool, "wing", "w3")
            if (found.chunks, found.terms["wing"].containing) != (200, 200):
                wrong.append(found.chunks)

    readers = [Thread(target=look) for _ in range(3)]
    for thread in readers:
        thread.start()
    mergers = [Thread(target=merge, args=(pool,)) for _ in range(3)]
    for thread in mergers:
        thread.start()
    for thread in mergers:
        thread.join(60)
    stop.set()
    for thread in readers:
        thread.join(60)
    assert wrong == []
    assert_holds(pool, chunks)


def _write_old(conn: Connection[Any], texts: dict[int, str], dead: Sequence[int]) -> None:
    conn.execute("INSERT INTO collection (tenant, name) VALUES ('default', 'c')")
    conn.execute(
        "INSERT INTO document (tenant, collection_id, uri, uri_key, content_hash, fingerprint,"
        " title, language, media_type, metadata, page_starts, page_numbers, chars, text)"
        " VALUES ('default', 1, 'u', 'u', 'h', 'f', '', '', '', '{}', '{}', '{}', 9, '')"
    )
    for segment, ids in ((1, range(1, 30)), (2, range(30, 60))):
        records: dict[str, bytes] = defaultdict(bytes)
        for n in ids:
            terms = texts[n].split()
            for term, frequency in Counter(terms).items():
                records[term] += struct.pack("<qii", n, frequency, len(terms))
            if n in dead:
                conn.execute("INSERT INTO lexical_tombstone VALUES ('default', 1, %s, 9)", (n,))
            else:
                conn.execute(
                    "INSERT INTO chunk VALUES ('default', %s, 1, 1, %s, 0, 1, NULL, '{}', 1, %s)",
                    (n, n, len(terms)),
                )
        conn.execute(
            "INSERT INTO lexical_segment VALUES ('default', 1, %s, %s, 9)", (segment, len(ids))
        )
        for term, data in records.items():
            conn.execute(
                "INSERT INTO lexical_posting VALUES ('default', 1, %s, %s, %s)",
                (term, segment, data),
            )


def test_a_posting_of_every_chunk_looks_like_a_listed_one() -> None:
    lengths = np.array([3, 5, 9], np.int32)
    dense = Posting.of(None, np.array([2, 0, 1], np.uint8), lengths)
    listed = Posting.of(np.array([0, 2], np.int32), np.array([2, 1], np.uint8), lengths)
    assert [c.tolist() for c in dense.listed()] == [c.tolist() for c in listed.listed()]
    assert sorted(map(tuple, dense.peaks.T)) == sorted(map(tuple, listed.peaks.T))
    assert Segment(np.array([1, 2, 3]), lengths).gone is None


def test_what_was_deleted_is_read_once_and_never_taken_for_what_it_was_before(pool: Pool) -> None:
    """Numbers of segments name what is kept: what is deleted or merged must leave new ones."""
    chunks = {n: f"wing w{n}" for n in range(200)}
    add(pool, chunks)
    asked = []
    for n in range(MAX_EMPTY + 2):
        bury(pool, {n: chunks.pop(n)} if n < 15 else {})
        if n in {0, 14, MAX_EMPTY, MAX_EMPTY + 1}:
            assert_holds(pool, chunks)
            merge(pool)
        with open_session(pool, OWN, snapshot=True) as session:
            assert read_in(session, ["wing"]).chunks == len(chunks)
            assert read_in(session, ["wing"]).terms["wing"].containing == len(chunks)
            asked.append(segment_state.state(session, 1).all_numbers)
    assert len(set(asked)) == len(asked)
    with pool.connection() as conn:
        row = conn.execute("SELECT count(*), max(chunks) FROM lexical_segment").fetchone()
    assert row == (3, 200)  # the first one, that of all the empty ones, and one since

    with open_session(pool, OWN, snapshot=True) as session:
        read_in(session, ["wing"])
        with pool.connection() as other:
            other.execute("DELETE FROM lexical_tombstone")  # as nothing ever does: it is not read
        assert read_in(session, ["wing"]).chunks == len(chunks)
    assert read(pool, "wing").chunks == len(chunks)


def test_all_of_some_segments_gone_leaves_others_with_another_name(pool: Pool) -> None:
    """Segments left over are not taken for the same ones before some of their chunks went."""
    large = dict.fromkeys(range(1000), "tail")
    add(pool, large)
    assert_holds(pool, large)
    small = {2000 + n: "wing" for n in range(MAX_SEGMENTS)}
    for n, text in small.items():
        add(pool, {n: text})
    bury(pool, {7: large.pop(7), **small})
    merge(pool)
    assert_holds(pool, large)


def test_a_term_is_kept_only_as_long_as_its_parts_are(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A term made of dropped parts would hold what the cache no longer counts."""
    chunks = {n: f"wing w{n}" for n in range(200)}
    add(pool, chunks)
    cache: LruCache[Hashable, object] = LruCache(MAX_BYTES, overhead=OVERHEAD)
    for module in (postings, segment_rows, segment_state):
        monkeypatch.setattr(module, "CACHE", cache)
    first = read(pool, "wing").terms["wing"]
    assert read(pool, "wing").terms["wing"] is first
    with open_session(pool, OWN, snapshot=True) as session:
        (number,) = segment_state.state(session, 1).numbers
    cache._drop((number, "wing"))
    again = read(pool, "wing").terms["wing"]
    assert again is not first
    cache._drop(number)
    assert read(pool, "wing").chunks == 200
    assert cache.get([number])
