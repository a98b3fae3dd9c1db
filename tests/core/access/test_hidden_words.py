"""The words that somebody may search, kept in memory: those of his snapshot, whatever changes."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Event
from typing import Any

import pytest

from ragkit.retrieve.words.bm25 import occurrences
from ragkit.store.connection.transactions import lent, transaction
from ragkit.store.documents import visible
from ragkit.store.documents.filter_sql import Readers
from ragkit.store.documents.history import History
from ragkit.store.documents.sharing import Change, Shares, set_document
from ragkit.store.postgres import PostgresStore
from ragkit.store.reader import PostgresReader
from ragkit.store.session import Session, open_session
from ragkit.store.words import postings
from ragkit.store.words.merge import MAX_EMPTY
from ragkit.store.words.segment_rows import CACHE
from ragkit.store.words.segment_state import State
from ragkit.testing.corpus import fill, new_document
from ragkit.text.analyse import analyse
from ragkit.text.postings import Postings
from ragkit.types import NewDocument
from tests.core.access.conftest import Place

WORDS = ["wombat", "merger", "otter", "lift", "meadow"]
ASKING: list[Readers] = [
    None,
    ("user:ada",),
    ("user:ada", "group:hr"),
    ("user:bob", "group:hr", "group:it"),
    ("user:eve",),
]
# What there is, read from the tables in the same snapshot, and judged here.
EVERY = """
    SELECT k.id, k.terms, d.owner, d.readers,
        substr(d.text, k.start_char + 1, k.end_char - k.start_char)
    FROM chunk k JOIN document d ON d.tenant = k.tenant AND d.id = k.document_id
    JOIN collection c ON c.tenant = d.tenant AND c.id = d.collection_id
    WHERE c.tenant = %s AND c.name = 'c' ORDER BY k.id
"""
Seen = tuple[int, int, dict[str, list[tuple[int, int]]]]


class Words:
    """A tenant's collection "c" of some documents, some shared, which are changed and searched."""

    def __init__(self, place: Place, tenant: str, documents: int = 6) -> None:
        self.place, self.tenant = place, tenant
        self.pool = place.database.pool
        self.shares = Shares(self.pool, tenant)
        self.store = PostgresStore(self.pool, tenant=tenant, keep_versions=2)
        made = [self.text(random.Random(n), n) for n in range(documents)]
        self.documents = [one.id for one in fill(self.store, place.embedder, made, "c")]

    @staticmethod
    def text(dice: random.Random, number: int) -> NewDocument:
        parts = [" ".join(dice.choices(WORDS, k=dice.randint(1, 9))) for _ in range(2)]
        return new_document(f"u{number}.md", *parts)

    def asked_by(self, readers: Readers) -> PostgresStore:
        return self.place.database.store(self.tenant, readers=readers)

    def found(self, readers: Readers) -> Seen:
        with self.asked_by(readers).snapshot() as reader:
            return found(reader)

    def check(self, readers: Readers) -> None:
        with self.asked_by(readers).snapshot() as reader:
            assert found(reader) == expected(reader, self.tenant, readers)

    def share(self, document: int, *readers: str) -> None:
        self.shares.document(document, Change(readers=readers))

    def set_readers(self, session: Session, document: int, readers: Sequence[str] | None) -> None:
        query = "SELECT collection_id, owner FROM document WHERE id = %(document)s FOR UPDATE"
        row = session.row(query, {"document": document})
        assert row is not None
        set_document(session, row[0], document, row[1], readers)

    def empty_segments(self) -> int:
        with transaction(self.pool, self.tenant) as cursor:
            query = "SELECT count(*) FROM lexical_segment WHERE tenant = %s AND chunks = 0"
            return int(cursor.execute(query, (self.tenant,)).fetchall()[0][0])

    def merge(self) -> None:
        with transaction(self.pool, self.tenant) as cursor:
            query = "SELECT id FROM collection WHERE tenant = %s AND name = 'c'"
            number = cursor.execute(query, (self.tenant,)).fetchall()[0][0]
        with lent(self.pool) as conn:
            postings.merge(conn, self.tenant, number)

    def change(self, dice: random.Random) -> None:
        """Do something that may change what somebody finds."""
        documents = sorted(self.store.named("c").values())
        one = dice.choice(documents)
        who = ["user:ada", "group:hr", "group:it", "user:eve"]
        some = tuple(dice.sample(who, dice.randint(0, 3)))
        ways: list[Callable[[], object]] = [
            lambda: self.share(one, *some),
            lambda: self.share(one, *some),
            lambda: self.shares.document(one, Change(readers=None)),
            lambda: self.shares.document(one, Change(owner=dice.choice(["user:eve", ""]))),
            lambda: self.raw(one, dice.choice([list(some), None])),
            lambda: self.rolled_back(one, list(some)),
            lambda: self.put(dice),
            lambda: self.drop(one, documents),
            lambda: self.back(one),
            self.merge,
        ]
        dice.choice(ways)()

    def raw(self, document: int, readers: Sequence[str] | None) -> None:
        with open_session(self.pool, self.tenant) as session:
            self.set_readers(session, document, readers)

    def rolled_back(self, document: int, readers: Sequence[str]) -> None:
        with suppress(KeyError), open_session(self.pool, self.tenant) as session:
            self.set_readers(session, document, readers)
            raise KeyError

    def put(self, dice: random.Random) -> None:
        fill(self.store, self.place.embedder, [self.text(dice, dice.randrange(9))], "c")

    def drop(self, document: int, documents: Sequence[int]) -> None:
        if len(documents) > 3:
            self.store.delete_document("c", document)

    def back(self, document: int) -> None:
        history = History(self.pool, self.tenant)
        old = [one.version for one in history.of(document) if one.to is not None]
        if old:
            history.restore(document, old[0])


def found(reader: PostgresReader) -> Seen:
    """Say what a search would go by: chunks, their terms, and where each term is how often."""
    return described(reader.postings("c", WORDS))


def described(given: Postings) -> Seen:
    terms = {}
    for term, one in given.terms.items():
        ids, counts, _ = occurrences(given, term)
        terms[term] = list(zip(ids.tolist(), counts.tolist(), strict=True))
        assert one.containing == len(ids)
    return given.chunks, given.total_length, terms


def expected(reader: PostgresReader, tenant: str, readers: Readers) -> Seen:
    """Count in the texts of what the readers may read, in a reader's own snapshot."""
    rows = [
        (chunk, length, Counter(analyse(text)))
        for chunk, length, owner, named, text in reader.session.cursor.execute(EVERY, (tenant,))
        if readers is None or named is None or owner in readers or {*named} & {*readers}
    ]
    counted = {
        word: [(chunk, count[word]) for chunk, _, count in rows if count[word]] for word in WORDS
    }
    terms = {word: places for word, places in counted.items() if places}
    return len(rows), sum(length for _, length, _ in rows), terms


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Readers]:
    """List for whom the hidden chunks are looked up in the database."""
    asked: list[Readers] = []
    real = visible.hidden_chunks

    def spied(session: Session, collection: int) -> object:
        asked.append(session.readers)
        return real(session, collection)

    monkeypatch.setattr(visible, "hidden_chunks", spied)
    return asked


@pytest.mark.parametrize("seed", range(3))
def test_what_is_found_is_what_may_be_read(place: Place, seed: int) -> None:
    words, dice = Words(place, f"steps{seed}"), random.Random(seed)
    for _ in range(25):
        words.change(dice)
        for readers in ASKING:
            words.check(readers)
            words.check(readers)  # as it is kept now


def test_searches_beside_changes_are_exact_at_their_snapshots(
    place: Place, asked: list[Readers]
) -> None:
    words = Words(place, "beside")
    stop = Event()
    changes: list[int] = []

    def search(seed: int) -> int:
        dice, searches = random.Random(seed), 0
        while not stop.is_set():
            readers = dice.choice(ASKING)
            with words.asked_by(readers).snapshot() as reader:
                for _ in range(2):  # changed beside it or not: the snapshot is one
                    assert found(reader) == expected(reader, words.tenant, readers)
                    searches += 1
        return searches

    def change(seed: int) -> None:
        dice = random.Random(seed)
        while not stop.is_set():
            one = dice.choice(words.documents[3 * seed : 3 * seed + 3])
            some = dice.sample(["user:ada", "group:hr", "group:it", "user:eve"], dice.randint(0, 3))
            words.share(one, *some)
            words.rolled_back(one, some[1:])
            words.put(dice)
            if not dice.randrange(9):
                words.merge()
            changes.append(one)

    with ThreadPoolExecutor(5) as threads:
        readers = [threads.submit(search, seed) for seed in range(3)]
        writers = [threads.submit(change, seed) for seed in range(2)]
        try:
            while len(changes) < 40 and not any(one.done() for one in readers + writers):
                words.check(ASKING[1])
        finally:
            stop.set()
        for one in writers:
            one.result()
        searches = sum(one.result() for one in readers)
    assert len(asked) < searches, "some were answered from memory"


@contextmanager
def standing(words: Words, readers: Readers) -> Iterator[PostgresReader]:
    """Open a snapshot that stays while things change."""
    with words.asked_by(readers).snapshot() as reader:
        yield reader


def test_snapshots_of_before_and_after_a_change_do_not_disturb_each_other(place: Place) -> None:
    words = Words(place, "moments")
    ada, hidden = ASKING[1], words.documents[0]
    all_of_it = words.found(ada)
    with standing(words, ada) as before:
        words.share(hidden, "group:hr")
        with standing(words, ada) as after:
            less = found(after)
            assert less[0] == all_of_it[0] - 2
            assert (found(before), found(after)) == (all_of_it, less)
            words.shares.document(hidden, Change(readers=None))
            assert (found(after), found(before)) == (less, all_of_it)
            assert words.found(ada) == all_of_it
            assert found(after) == less
    # What is not committed is seen by nobody, and what is rolled back never was.
    with open_session(words.pool, words.tenant) as session:
        words.set_readers(session, hidden, [])
        assert words.found(ada) == all_of_it
    assert words.found(ada) == less
    words.rolled_back(words.documents[1], [])
    assert words.found(ada) == less


def test_other_principals_find_what_they_may_read(place: Place, asked: list[Readers]) -> None:
    words = Words(place, "groups")
    words.share(words.documents[0], "group:hr")
    ada, in_hr = ASKING[1], ASKING[2]
    for _ in range(2):
        assert words.found(ada)[0] == 10
        assert words.found(in_hr)[0] == 12
        assert words.found(("group:hr", "user:ada"))[0] == 12  # the same ones
    assert asked == [ada, in_hr]
    words.shares.document(words.documents[0], Change(owner="user:ada"))
    assert words.found(ada)[0] == 12
    words.shares.document(words.documents[0], Change(owner="user:bob"))
    assert words.found(ada)[0] == 10


def test_nobody_is_asked_for_again_until_something_changes(
    place: Place, asked: list[Readers]
) -> None:
    words = Words(place, "kept")
    words.share(words.documents[0], "group:hr")
    words.shares.collection(
        "c",
        Change(
            add=(
                "user:ada",
                "user:eve",
            )
        ),
    )
    ada = ASKING[1]
    for _ in range(3):
        words.check(ada)
    assert asked == [ada]
    # The collection's own readers are looked at by every search; who may not read it finds none.
    words.shares.collection("c", Change(remove=("user:ada",)))
    with pytest.raises(Exception, match="no collection 'c'"):
        words.found(ada)
    words.shares.collection("c", Change(add=("user:ada",)))
    words.check(ada)
    assert asked == [ada]
    words.share(words.documents[0], "group:hr")  # as it was
    words.check(ada)
    assert asked == [ada]
    words.raw(words.documents[1], ["group:it"])
    words.check(ada)
    assert asked == [ada, ada]


def test_a_merge_under_way_does_not_keep_a_change_of_sharing(place: Place) -> None:
    words = Words(place, "busy")
    for n in range(MAX_EMPTY + 1):
        words.raw(words.documents[0], [f"user:{n}"])
    before = words.empty_segments()
    assert before > MAX_EMPTY
    with transaction(words.pool, "busy") as cursor:
        query = "SELECT id FROM collection WHERE tenant = 'busy' AND name = 'c'"
        number = cursor.execute(query).fetchall()[0][0]
        lock = "SELECT pg_advisory_xact_lock(hashtext('ragkit merge busy'), %s::int)"
        cursor.execute(lock, (number,))
        words.share(words.documents[1], "user:ada")  # comes back
        assert words.empty_segments() == before + 1
    words.share(words.documents[1], "user:bob")
    assert words.empty_segments() == 1


def test_what_is_kept_of_readers_is_counted_and_makes_room(
    place: Place, asked: list[Readers], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = Words(place, "room")
    words.share(words.documents[0], "group:hr")
    words.check(None)
    CACHE.clear()
    many: list[Readers] = [(f"user:{n}", "group:" + "x" * 1000) for n in range(20)]
    for readers in many:
        before = CACHE.size
        words.check(readers)
        assert CACHE.size - before > 1000
    (kept,) = [one for (name, one) in kept_states() if name[1] == frozenset(many[0] or ())]
    assert sum(int(one.gone.sum()) for one in kept.joined if one.gone is not None) == 2
    monkeypatch.setattr(CACHE, "_max", CACHE.size // 4)
    del asked[:]
    for _ in range(2):
        for readers in many:
            words.check(readers)
    assert len(asked) >= 39  # the first one stood until there was something to make room for
    assert CACHE.size <= CACHE._max


def kept_states() -> list[tuple[Any, State]]:
    return [
        (key, value)
        for key, (value, _) in CACHE._kept.items()
        if isinstance(value, State) and isinstance(key, tuple) and isinstance(key[-1], frozenset)
    ]


def test_changes_of_sharing_are_tidied_up(place: Place) -> None:
    words = Words(place, "tidy")
    for turn in range(MAX_EMPTY + 2):
        words.share(words.documents[0], f"user:{turn}")
    assert words.empty_segments() < 5
    words.check(("user:1",))
    words.check((f"user:{MAX_EMPTY + 1}",))


def test_sharing_waits_for_a_collection_before_it_holds_a_document(place: Place) -> None:
    """Whoever has the collection for himself may go on to its documents: neither waits for ever."""
    words = Words(place, "order")
    one = words.documents[0]
    with ThreadPoolExecutor(1) as thread:
        with transaction(words.pool, words.tenant) as cursor:
            cursor.execute("SELECT 1 FROM collection WHERE tenant = 'order' FOR UPDATE")
            change = thread.submit(words.share, one, "group:hr")
            end = time.monotonic() + 60
            query = "SELECT count(*) FROM pg_locks WHERE %s = ANY(pg_blocking_pids(pid))"
            own = cursor.connection.info.backend_pid
            while cursor.execute(query, (own,)).fetchone() == (0,):
                assert time.monotonic() < end, "it does not wait"
                assert not change.done()
            cursor.execute("SELECT 1 FROM document WHERE id = %s FOR UPDATE NOWAIT", (one,))
        change.result()
    assert words.shares.document(one).readers == ("group:hr",)
