"""Small segments joined: extended by new ones, and always those of the snapshot."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from psycopg import Connection, Cursor
from psycopg_pool import ConnectionPool

from ragkit.retrieve.words.bm25 import occurrences
from ragkit.store.connection.connect import open_pool
from ragkit.store.session import Session, open_session
from ragkit.store.words import postings, small_segments
from ragkit.store.words.segment_rows import CACHE, add_empty
from ragkit.store.words.segment_state import State, state
from ragkit.text.postings import Postings
from ragkit.text.terms import Terms
from tests.databases import Databases

Pool = ConnectionPool[Connection[Any]]
OWN = "default"
WORDS = ["wing", "tail", "lift", "drag"]


@pytest.fixture(scope="module")
def database(databases: Databases) -> Iterator[Pool]:
    with databases.take() as url, open_pool(url) as pool:
        with pool.connection() as conn:
            conn.execute("INSERT INTO collection (tenant, name) VALUES ('default', 'c')")
        yield pool


@pytest.fixture
def pool(database: Pool) -> Pool:
    """The module's database, with an empty word index."""
    with database.connection() as conn:
        conn.execute("TRUNCATE lexical_segment, lexical_posting, lexical_tombstone")
    return database


def add(pool: Pool, chunks: dict[int, str]) -> None:
    with open_session(pool, OWN) as session:
        add_in(session, chunks)


def add_in(session: Session, chunks: dict[int, str]) -> None:
    terms = Terms.of([text.split() for text in chunks.values()])
    postings.add_segment(session, 1, list(chunks), terms)


def look_up(pool: Pool) -> State:
    with open_session(pool, OWN, snapshot=True) as session:
        return state(session, 1)


def read(session: Session, *terms: str) -> Postings:
    return postings.read(session, 1, terms, state(session, 1))


def chunks_with(pool: Pool, term: str) -> list[int]:
    with open_session(pool, OWN, snapshot=True) as session:
        return chunks_in(session, term)


def chunks_in(session: Session, term: str) -> list[int]:
    ids: list[int] = occurrences(read(session, term), term)[0].tolist()
    return ids


@pytest.fixture
def read_segments(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """List how many segments each statement asks postings of."""
    counts: list[int] = []
    execute = Cursor.execute

    def noting(self: Cursor[Any], query: Any, values: Any = None, **options: Any) -> object:
        if query == small_segments._POSTINGS:
            counts.append(len(values["segments"]))
        return execute(self, query, values, **options)

    monkeypatch.setattr(Cursor, "execute", noting)
    return counts


def test_of_a_term_only_the_segments_that_came_since_are_read(
    pool: Pool, read_segments: list[int]
) -> None:
    for number in range(5):
        add(pool, {number: "wing tail"})
    assert chunks_with(pool, "wing") == [0, 1, 2, 3, 4]
    assert read_segments == [5]
    add(pool, {10: "wing", 11: "lift"})
    add(pool, {12: "wing"})
    assert chunks_with(pool, "wing") == [0, 1, 2, 3, 4, 10, 12]
    assert read_segments == [5, 2]
    assert chunks_with(pool, "wing") == [0, 1, 2, 3, 4, 10, 12]
    assert chunks_with(pool, "tail") == [0, 1, 2, 3, 4]
    assert read_segments == [5, 2, 7]  # none for what is cached, all for another term


def test_what_was_joined_is_extended_and_chunks_that_come_before_join_it_anew(pool: Pool) -> None:
    add(pool, {10: "wing"})
    add(pool, {20: "wing"})
    first = look_up(pool).small
    assert first is not None
    assert first.base == 2
    assert chunks_with(pool, "wing") == [10, 20]
    add(pool, {30: "wing"})
    extended = look_up(pool).small
    assert extended is not None
    assert extended.base == 2
    assert list(extended.places)[:2] == list(first.places)
    assert chunks_with(pool, "wing") == [10, 20, 30]
    add(pool, {25: "wing", 26: "tail"})  # a writer that took its numbers before the last
    anew = look_up(pool).small
    assert anew is not None
    assert anew.base == 4
    assert anew.segment.ids.tolist() == [10, 20, 25, 26, 30]
    assert chunks_with(pool, "wing") == [10, 20, 25, 30]
    assert chunks_with(pool, "tail") == [26]


def test_two_segments_whose_chunks_alternate_are_not_added_one_after_the_other(pool: Pool) -> None:
    add(pool, {1: "wing"})
    add(pool, {2: "wing"})
    assert chunks_with(pool, "wing") == [1, 2]
    add(pool, {10: "wing", 12: "tail"})
    add(pool, {11: "wing", 13: "wing"})
    assert chunks_with(pool, "wing") == [1, 2, 10, 11, 13]
    assert chunks_with(pool, "tail") == [12]


def test_an_earlier_snapshot_that_goes_on_sees_its_segments_and_newer_ones_are_kept(
    pool: Pool,
) -> None:
    add(pool, {1: "wing"})
    add(pool, {2: "wing"})
    with open_session(pool, OWN, snapshot=True) as earlier:
        assert chunks_in(earlier, "wing") == [1, 2]
        add(pool, {3: "wing"})
        assert chunks_with(pool, "wing") == [1, 2, 3]
        newest = look_up(pool).small
        assert chunks_in(earlier, "wing") == [1, 2]
        CACHE._drop(state_name(earlier))  # as if there had been no room
        assert chunks_in(earlier, "wing") == [1, 2]
        assert chunks_in(earlier, "tail") == []
    assert look_up(pool).small is newest
    assert chunks_with(pool, "wing") == [1, 2, 3]


def state_name(session: Session) -> tuple[int, ...]:
    query = "SELECT array_agg(id ORDER BY chunks DESC, id) FROM lexical_segment"
    return tuple(session.value(query))


def test_a_write_that_is_rolled_back_is_in_nothing_that_comes_after(pool: Pool) -> None:
    add(pool, {1: "wing"})
    add(pool, {2: "wing"})
    with open_session(pool, OWN) as session:
        add_in(session, {3: "wing tail"})
        assert chunks_in(session, "wing") == [1, 2, 3]
        session.cursor.connection.rollback()
    assert chunks_with(pool, "wing") == [1, 2]
    assert chunks_with(pool, "tail") == []
    add(pool, {4: "tail"})
    assert chunks_with(pool, "wing") == [1, 2]
    assert chunks_with(pool, "tail") == [4]


def test_tombstones_are_read_again_only_when_some_came_or_went(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements: list[object] = []
    execute = Cursor.execute

    def noting(self: Cursor[Any], query: Any, *arguments: Any, **options: Any) -> Cursor[Any]:
        statements.append(query)
        return execute(self, query, *arguments, **options)

    monkeypatch.setattr(Cursor, "execute", noting)

    def tombstones_read() -> bool:
        statements.clear()
        look_up(pool)
        return any("FROM lexical_tombstone" in str(query) for query in statements)

    for number in range(3):
        add(pool, {number: "wing"})
    assert tombstones_read()
    add(pool, {5: "wing"})
    assert not tombstones_read()
    with open_session(pool, OWN) as session:
        session.cursor.execute(
            "INSERT INTO lexical_tombstone (tenant, collection_id, chunk_id, terms)"
            " VALUES ('default', 1, 1, 1)"
        )
        add_empty(session, 1)
    assert tombstones_read()
    assert chunks_with(pool, "wing") == [0, 2, 5]
    add(pool, {6: "wing"})
    assert not tombstones_read()
    assert chunks_with(pool, "wing") == [0, 2, 5, 6]
    with pool.connection() as conn:
        postings.merge(conn, OWN, 1)
    assert tombstones_read()
    assert chunks_with(pool, "wing") == [0, 2, 5, 6]


@pytest.mark.parametrize("seed", range(3))
def test_after_any_writes_the_words_are_those_of_the_texts(pool: Pool, seed: int) -> None:
    """Deletions, merges and writers that overtake one another; some terms are read now and then."""
    dice = random.Random(seed)
    free, chunks = list(range(600)), dict[int, str]()
    for turn in range(60):
        start = dice.randrange(12)  # numbers are taken in another order than they are committed
        numbers = free[start : start + dice.randint(1, 4)]
        free = [number for number in free if number not in numbers]
        new = {number: " ".join(dice.choices(WORDS, k=3)) for number in sorted(numbers)}
        add(pool, new)
        chunks |= new
        if dice.random() < 0.2:
            gone = dice.choice(list(chunks))
            with open_session(pool, OWN) as session:
                session.cursor.execute(
                    "INSERT INTO lexical_tombstone (tenant, collection_id, chunk_id, terms)"
                    " VALUES ('default', 1, %s, 3)",
                    (gone,),
                )
                add_empty(session, 1)
            del chunks[gone]
        if dice.random() < 0.05:
            with pool.connection() as conn:
                postings.merge(conn, OWN, 1)
        term = dice.choice(WORDS[: 1 + turn % 4])
        expected = sorted(n for n, text in chunks.items() if term in text.split())
        assert chunks_with(pool, term) == expected, turn
        assert look_up(pool).chunks == len(chunks)
