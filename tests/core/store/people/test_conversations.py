"""Conversations on the real database: whose they are, one question at a time, nothing by halves."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest
from pydantic import SecretStr

from ragkit import Settings
from ragkit.errors import NotFoundError, UsageError
from ragkit.store.open import Database, open_database
from ragkit.store.people.conversations import Conversations, StoredTurn, UsedPassage, title_of
from ragkit.types import Citation, Claim

TURN = StoredTurn(
    question="How long?",
    query="How long is the leave?",
    answer="25 days [3].",
    refused=False,
    reason="",
    citations=(
        Citation(3, 7, "h.md", "Handbook", 2, 10, 20, "25 days", "verified", 4, ("Leave",)),
    ),
    claims=(Claim(0, 12, (3,), "supported"),),
    unverified=("31",),
    used=(UsedPassage(chunk=11, document=7, version=4, start=0, end=40),),
    first_source=3,
    cited=(11, 5),
    trace={"query": "rewritten by the model"},
    timings={"retrieve": 0.25},
)
DIES = """
import sys
from uuid import UUID
from ragkit import Settings
from ragkit.store.people.conversations import Conversations
from ragkit.store.open import open_database
with open_database(Settings(database_url=sys.argv[1])) as database:
    mine = Conversations(database.pool, "default", "me")
    mine.begin(UUID(sys.argv[2]), UUID(int=1), new=("default", "Why?"))
    print("begun", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def database(fresh_database: str) -> Iterator[Database]:
    with open_database(Settings(database_url=SecretStr(fresh_database))) as database:
        yield database


@pytest.fixture
def mine(database: Database) -> Conversations:
    return Conversations(database.pool, "default", "me")


def start(conversations: Conversations, title: str = "How long?") -> UUID:
    number, token = uuid4(), uuid4()
    conversations.begin(number, token, new=("handbook", title))
    conversations.finish(number, token, TURN)
    return number


def count(database: Database, table: str) -> Any:
    query = {
        "turn": "SELECT count(*) FROM turn",
        "conversation": "SELECT count(*) FROM conversation",
    }
    with database.pool.connection() as conn:
        return conn.execute(query[table]).fetchone()[0]  # type: ignore[index]


def said(call: Callable[[], object]) -> str:
    with pytest.raises(NotFoundError) as caught:
        call()
    return str(caught.value)


def test_a_turn_comes_back_as_it_was_kept(mine: Conversations) -> None:
    number, token = uuid4(), uuid4()
    mine.begin(number, token, new=("handbook", "How long?"))
    assert mine.all() == []  # not before its first turn
    ordinal, created_at = mine.finish(number, token, TURN)
    (kept,) = mine.turns(number)
    assert ordinal == 1
    assert {name: getattr(kept, name) for name in StoredTurn.__slots__} == {
        name: getattr(TURN, name) for name in StoredTurn.__slots__
    } | {"ordinal": 1, "created_at": created_at}
    (listed,) = mine.all()
    assert listed == mine.get(number)
    assert (listed.id, listed.collection, listed.title) == (number, "handbook", "How long?")
    assert (listed.turns, listed.summary, listed.summarised) == (1, "", 0)


def test_citations_that_were_kept_before_they_had_headings_come_back(
    database: Database, mine: Conversations
) -> None:
    number = start(mine)
    with database.pool.connection() as conn:
        conn.execute("UPDATE turn SET citations = citations #- '{0,headings}'")
    (turn,) = mine.turns(number)
    assert turn.citations == (replace(TURN.citations[0], headings=()),)


def test_the_latest_is_listed_first(mine: Conversations) -> None:
    first, second = start(mine, "first"), start(mine, "second")
    assert [one.id for one in mine.all()] == [second, first]
    token = uuid4()
    mine.begin(first, token)
    assert mine.finish(first, token, TURN)[0] == 2
    assert [(one.id, one.turns) for one in mine.all()] == [(first, 2), (second, 1)]


def test_what_is_anothers_is_not_there(database: Database, mine: Conversations) -> None:
    number = start(mine)
    gone = uuid4()
    for other in (
        Conversations(database.pool, "default", "you"),
        Conversations(database.pool, "other", "me"),
    ):
        assert other.all() == []
        assert other.turns(number) == []
        assert other.delete_all() == 0
        for of in (number, gone):
            calls: list[Callable[[], object]] = [
                partial(other.get, of),
                partial(other.find, str(of)),
                partial(other.find, str(of)[:8]),
                partial(other.begin, of, uuid4()),
                partial(other.delete, of),
            ]
            assert {
                said(call).replace(str(of), "ID").replace(str(of)[:8], "ID") for call in calls
            } == {"there is no conversation 'ID': `ragkit conversations list` shows yours"}
    assert len(mine.turns(number)) == 1


def test_an_id_is_found_by_its_beginning(mine: Conversations) -> None:
    numbers = [UUID("abcd1111-0000-4000-8000-000000000000"), UUID(int=0xABCD2222 << 96)]
    for number in numbers:
        token = uuid4()
        mine.begin(number, token, new=("c", "t"))
    assert mine.find("ABCD1") == numbers[0]
    assert mine.find(str(numbers[1])) == numbers[1]
    with pytest.raises(UsageError, match="more than one conversation begins with 'abcd'"):
        mine.find("abcd")
    for text in ("", "abc", "%%%%", "abcd_", "ffff", "zzzz", "\0\0\0\0", "a" * 37):
        with pytest.raises(NotFoundError):
            mine.find(text)


def test_one_question_at_a_time(database: Database, mine: Conversations) -> None:
    number = start(mine)
    tokens = [uuid4() for _ in range(8)]

    def begin(token: UUID) -> bool:
        try:
            mine.begin(number, token)
        except UsageError:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        won = [token for token, did in zip(tokens, threads.map(begin, tokens), strict=True) if did]
    assert len(won) == 1
    mine.finish(number, won[0], TURN)
    for token in tokens:
        with pytest.raises(NotFoundError, match="was not kept"):
            mine.finish(number, token, TURN)
    assert [turn.ordinal for turn in mine.turns(number)] == [1, 2]


def test_a_lease_that_ran_out_can_be_taken_and_a_renewed_one_cannot(
    database: Database, mine: Conversations
) -> None:
    number, dead, living = start(mine), uuid4(), uuid4()
    run_out = "UPDATE conversation SET asking_until = now() - interval '1 second'"
    mine.begin(number, dead)
    with database.pool.connection() as conn:
        conn.execute(run_out)
    mine.begin(number, living)
    with database.pool.connection() as conn:
        conn.execute(run_out)
    mine.renew(number, dead)  # it is not his any more
    mine.renew(number, living)
    with pytest.raises(
        UsageError, match=r"is answering another .* \(if its program has died, 90 s"
    ):
        mine.begin(number, uuid4())
    with pytest.raises(NotFoundError, match="was not kept"):
        mine.finish(number, dead, TURN)
    mine.abandon(number, dead)
    assert mine.finish(number, living, TURN)[0] == 2


def test_what_is_abandoned_leaves_nothing(database: Database, mine: Conversations) -> None:
    number, token = uuid4(), uuid4()
    mine.begin(number, token, new=("c", "t"))
    mine.abandon(number, token)
    assert count(database, "conversation") == 0
    number = start(mine)
    mine.begin(number, token)
    mine.abandon(number, token)
    mine.begin(number, uuid4())  # free at once
    assert len(mine.turns(number)) == 1


def test_a_program_that_is_killed_leaves_no_half_turn(
    database: Database, mine: Conversations, fresh_database: str
) -> None:
    number = uuid4()
    with subprocess.Popen(
        [sys.executable, "-c", DIES, fresh_database, str(number)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        process.send_signal(signal.SIGKILL)
    assert mine.all() == []
    assert mine.turns(number) == []
    with database.pool.connection() as conn:
        conn.execute("UPDATE conversation SET asking_until = now()")
    token = uuid4()
    mine.begin(number, token)
    assert mine.finish(number, token, TURN)[0] == 1


def test_deletion_leaves_nothing_anywhere(database: Database, mine: Conversations) -> None:
    one, two, three = start(mine), start(mine), start(mine)
    theirs = start(Conversations(database.pool, "default", "you"))
    token = uuid4()
    mine.begin(one, token)
    mine.delete(one)
    with pytest.raises(NotFoundError, match="was not kept"):  # and does not come back
        mine.finish(one, token, TURN)
    assert count(database, "turn") == 3
    assert mine.delete_all() == 2
    assert (count(database, "conversation"), count(database, "turn")) == (1, 1)
    assert mine.turns(two) == mine.turns(three) == []
    assert Conversations(database.pool, "default", "you").all()[0].id == theirs


def test_a_summary_takes_the_place_of_the_one_it_was_made_of(mine: Conversations) -> None:
    number = start(mine)
    assert mine.summarise(number, "first", old=0, new=1)
    assert not mine.summarise(number, "late", old=0, new=1)
    assert (mine.get(number).summary, mine.get(number).summarised) == ("first", 1)


def again(mine: Conversations, number: UUID, turn: StoredTurn = TURN) -> int:
    """Put a turn in the place of the last one."""
    token = uuid4()
    mine.begin(number, token)
    return mine.finish(number, token, turn, replaces=mine.turns(number)[-1])[0]


def test_a_turn_takes_the_place_of_the_last_under_an_ordinal_of_its_own(
    mine: Conversations,
) -> None:
    number, token = start(mine), uuid4()
    mine.begin(number, token)
    mine.finish(number, token, replace(TURN, question="first try"))
    assert again(mine, number, replace(TURN, question="second try")) == 3
    assert again(mine, number, replace(TURN, question="third try")) == 4
    turns = [(turn.ordinal, turn.question) for turn in mine.turns(number)]
    assert turns == [(1, "How long?"), (4, "third try")]
    assert mine.get(number).turns == 2


def test_what_could_not_take_the_place_leaves_the_last_turn(mine: Conversations) -> None:
    number, lost = start(mine), uuid4()
    mine.begin(number, lost)
    mine.abandon(number, lost)
    with pytest.raises(NotFoundError, match="was not kept"):
        mine.finish(number, lost, TURN, replaces=mine.turns(number)[-1])
    token = uuid4()
    mine.begin(number, token)
    with pytest.raises(AssertionError):  # after the new one was written
        mine.finish(number, token, TURN, replaces=replace(TURN, ordinal=7))
    assert [turn.ordinal for turn in mine.turns(number)] == [1]


def test_a_summary_goes_with_the_turn_that_it_tells_of(mine: Conversations) -> None:
    number, token = start(mine), uuid4()
    mine.begin(number, token)
    mine.finish(number, token, TURN)
    assert mine.summarise(number, "of the first", old=0, new=1)
    assert again(mine, number) == 3
    assert (mine.get(number).summary, mine.get(number).summarised) == ("of the first", 1)
    assert mine.summarise(number, "of all", old=1, new=3)
    assert again(mine, number) == 4
    assert (mine.get(number).summary, mine.get(number).summarised) == ("", 0)
    assert not mine.summarise(number, "made of what was replaced meanwhile", old=0, new=3)
    assert mine.get(number).summary == ""


def test_a_conversation_is_named_after_the_question_in_the_place_of_its_only_one(
    mine: Conversations,
) -> None:
    number, named = start(mine, title_of(TURN.question)), start(mine, "My leave")
    for one in (number, named):
        again(mine, one, replace(TURN, question="How  many\ndays?"))
    assert (mine.get(number).title, mine.get(named).title) == ("How many days?", "My leave")
    token = uuid4()
    mine.begin(number, token)
    mine.finish(number, token, replace(TURN, question="How many days?"))
    again(mine, number)
    assert mine.get(number).title == "How many days?", "its first question still is"


def test_what_postgresql_cannot_keep_is_replaced(mine: Conversations) -> None:
    number, token = uuid4(), uuid4()
    mine.begin(number, token, new=("c", "a\0b\ud800"))
    mine.finish(
        number, token, StoredTurn("q\0", "\udfff", "a\0", False, "\0", trace={"query": "\0"})
    )
    assert mine.get(number).title == "a\ufffdb?"
    (turn,) = mine.turns(number)
    assert (turn.question, turn.query, turn.answer) == ("q\ufffd", "?", "a\ufffd")


def test_pages_go_on_where_the_last_ended(database: Database, mine: Conversations) -> None:
    numbers = [start(mine, str(n)) for n in range(5)]
    start(Conversations(database.pool, "default", "you"))
    mine.begin(uuid4(), uuid4(), new=("handbook", "no turn yet"))
    with database.pool.connection() as conn:  # two at the same time: the id decides
        conn.execute("UPDATE conversation SET updated_at = now() WHERE title IN ('2', '3')")
    whole = mine.page(99)
    assert whole == mine.all()
    assert {one.id for one in whole} == set(numbers)
    seen = list(mine.page(1))
    while more := mine.page(1, after=(seen[-1].updated_at, seen[-1].id)):
        seen += more
    assert seen == whole
    assert mine.page(9, collections=("finance",)) == []
    assert [one.title for one in mine.page(9, search=" 3 ")] == ["3"]
    assert len(mine.page(9, search=TURN.question[2:9].upper())) == 5, "their questions"
    assert mine.page(9, search="100%") == []
    assert len(mine.page(9, collections=("finance", "handbook"))) == 5


def test_rename(database: Database, mine: Conversations) -> None:
    first, second = start(mine, "first"), start(mine, "second")
    mine.rename(first, "  年假\n 2025 \0")
    assert [one.title for one in mine.all()] == ["second", "年假 2025 \ufffd"]
    for title in ("", " \n", "x" * 201):
        with pytest.raises(UsageError, match="a title has 1 to 200 characters, this one"):
            mine.rename(second, title)
    for conversations, number in (
        (Conversations(database.pool, "default", "you"), first),
        (Conversations(database.pool, "other", "me"), first),
        (mine, uuid4()),
    ):
        with pytest.raises(NotFoundError, match="there is no conversation"):
            conversations.rename(number, "x")
    assert mine.get(first).title == "年假 2025 \ufffd"
