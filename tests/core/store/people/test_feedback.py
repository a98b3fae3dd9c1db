"""Feedback on the real database: whose answers can be rated, what is copied, what is listed."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID, uuid4

import pytest
from pydantic import SecretStr

from ragkit import Settings
from ragkit.conversation.ratings_json import evaluation_item
from ragkit.errors import NotFoundError, UsageError
from ragkit.store.open import Database, open_database
from ragkit.store.people.conversations import Conversations, StoredTurn
from ragkit.store.people.feedback import Feedback
from ragkit.store.people.kept_answers import KeptAnswers
from ragkit.types import Answer, Citation

CITATION = Citation(3, 7, "h.md", "Handbook", 2, 10, 20, "25 days", "verified", 4)
ANSWER = Answer("25 days [3].", False, "", (CITATION,))
TURN = StoredTurn("And how long?", "How long is the leave?", "25 days [3].", False, "", (CITATION,))


@pytest.fixture
def database(fresh_database: str) -> Iterator[Database]:
    with open_database(Settings(database_url=SecretStr(fresh_database))) as database:
        yield database


@pytest.fixture
def mine(database: Database) -> Feedback:
    return of(database)


def of(database: Database, tenant: str = "default", principal: str = "me") -> Feedback:
    return Feedback(database.pool, tenant, principal, keep_days=30)


def keep(
    database: Database,
    id: str,
    *,
    tenant: str = "default",
    principal: str = "me",
    question: str = "How long?",
    collection: str = "hr",
    query: str | None = None,
) -> None:
    KeptAnswers(database.pool, tenant, principal, keep_days=30).keep(
        id, collection=collection, question=question, query=query, answer=ANSWER, completion={}
    )


def start(database: Database) -> UUID:
    conversations, number, token = Conversations(database.pool, "default", "me"), uuid4(), uuid4()
    conversations.begin(number, token, new=("hr", "How long?"))
    conversations.finish(number, token, TURN)
    return number


def test_a_kept_answer_is_rated_with_a_copy_of_it(database: Database, mine: Feedback) -> None:
    keep(database, "chatcmpl-1", question="要多久？\0")
    rated = mine.rate("chatcmpl-1", "down", "wrong year\0")
    assert (rated.answer_id, rated.principal, rated.rating) == ("chatcmpl-1", "me", "down")
    assert (rated.comment, rated.collection) == ("wrong year\ufffd", "hr")
    assert (rated.question, rated.query) == ("要多久？\ufffd", "要多久？\ufffd")
    assert (rated.answer, rated.refused, rated.citations) == ("25 days [3].", False, (CITATION,))
    assert mine.page(10) == [rated]


def test_a_kept_follow_up_is_rated_with_the_question_as_it_stands_alone(
    database: Database, mine: Feedback
) -> None:
    keep(database, "a", question="And for parents?", query="How long is the leave of parents?\0")
    rated = mine.rate("a", "up")
    assert rated.question == "And for parents?"
    assert rated.query == "How long is the leave of parents?\ufffd"
    item = evaluation_item(rated)
    assert (item["question"], item["asked"]) == (rated.query, rated.question)


def test_what_is_too_old_cannot_be_rated_but_a_rating_stays(
    database: Database, mine: Feedback
) -> None:
    for id in ("rated", "not"):
        keep(database, id)
    first = mine.rate("rated", "up")
    with database.pool.connection() as conn:
        conn.execute("UPDATE kept_answer SET created_at = now() - interval '30 days'")
    with pytest.raises(NotFoundError, match="there is no kept answer 'not'"):
        mine.rate("not", "up")
    assert mine.page(9) == [first]
    assert mine.rate("rated", "down").answer == "25 days [3]."  # the copy is rated anew
    KeptAnswers(database.pool, "default", "me", keep_days=31).delete("rated")
    assert mine.rate("rated", "up").id == first.id


def test_a_turn_is_rated_by_conversation_and_ordinal(database: Database, mine: Feedback) -> None:
    number = start(database)
    rated = mine.rate(f"{number}/1", "up")
    assert (rated.question, rated.query) == ("And how long?", "How long is the leave?")
    assert evaluation_item(rated) == {
        "id": rated.id,
        "question": "How long is the leave?",
        "asked": "And how long?",
        "answer": "25 days [3].",
        "refused": False,
        "rating": "up",
        "comment": "",
        "collection": "hr",
        "citations": [
            {
                "document": 7,
                "version": 4,
                "uri": "h.md",
                "start": 10,
                "end": 20,
                "quote": "25 days",
            }
        ],
        "created_at": rated.created_at.isoformat(timespec="seconds"),
    }


def test_a_second_rating_takes_the_first_ones_place(database: Database, mine: Feedback) -> None:
    number = start(database)
    first = mine.rate(f"{number}/1", "up", "good")
    second = mine.rate(f"{number}/1", "down", "or not")
    assert mine.page(10) == [second]
    assert (second.id, second.rating, second.comment) == (first.id, "down", "or not")
    assert second.created_at == first.created_at < second.updated_at
    Conversations(database.pool, "default", "me").delete(number)
    third = mine.rate(f"{number}/1", "up")  # the copy outlives the conversation
    assert (third.id, third.answer, third.comment) == (first.id, "25 days [3].", "")


def test_only_ones_own_answers_can_be_rated(database: Database, mine: Feedback) -> None:
    number = start(database)
    keep(database, "a")
    for other in (of(database, principal="you"), of(database, tenant="x")):
        for answer in ("a", f"{number}/1"):
            with pytest.raises(NotFoundError, match="there is no kept answer"):
                other.rate(answer, "up")
    for answer in ("a", f"{number}/1"):
        with pytest.raises(NotFoundError, match="there is no kept answer"):
            mine.rate(answer, "up", collections=("finance",))
        assert mine.rate(answer, "up", collections=("hr",)).collection == "hr"
        with pytest.raises(NotFoundError, match="there is no kept answer"):  # nor again
            mine.rate(answer, "down", collections=())
    assert [rated.rating for rated in mine.page(10)] == ["up", "up"]


@pytest.mark.parametrize(
    "answer",
    ["", "b", "a b", "\0", "\ud800", "a" * 201, f"{UUID(int=1)}/1", f"{UUID(int=1)}/0", "x/1"],
)
def test_what_was_never_answered_cannot_be_rated(mine: Feedback, answer: str) -> None:
    with pytest.raises(NotFoundError, match="there is no kept answer"):
        mine.rate(answer, "up")


def test_a_turn_that_is_not_there_cannot_be_rated(database: Database, mine: Feedback) -> None:
    number = start(database)
    for ordinal in ("2", "999999999", "9999999999", "01", "-1"):
        with pytest.raises(NotFoundError):
            mine.rate(f"{number}/{ordinal}", "up")


def test_a_comment_has_an_end(database: Database, mine: Feedback) -> None:
    keep(database, "a")
    assert len(mine.rate("a", "up", "假" * 4000).comment) == 4000
    with pytest.raises(UsageError, match="the comment has 4001 characters: 4000 are kept"):
        mine.rate("a", "up", "假" * 4001)


def test_pages_are_the_tenants_latest_first(
    database: Database, mine: Feedback, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = of(database, tenant="other")
    for tenant, principal, id, collection in (
        ("default", "me", "a", "hr"),
        ("default", "you", "b", "hr"),
        ("default", "me", "c", "finance"),
        ("other", "me", "d", "hr"),
    ):
        keep(database, id, tenant=tenant, principal=principal, collection=collection)
        of(database, tenant, principal).rate(id, "down" if id == "b" else "up")
    first = mine.page(2)
    assert [rated.answer_id for rated in first] == ["c", "b"]
    assert [rated.answer_id for rated in mine.page(2, after=first[-1].id)] == ["a"]
    assert [rated.answer_id for rated in mine.page(9, rating="down")] == ["b"]
    assert [rated.answer_id for rated in mine.page(9, collections=("hr",))] == ["b", "a"]
    assert mine.page(9, collections=()) == []
    assert [rated.answer_id for rated in other.page(9)] == ["d"]
    monkeypatch.setattr("ragkit.store.people.feedback.BATCH", 1)
    assert [rated.answer_id for rated in mine.all()] == ["c", "b", "a"]


def test_one_deletes_ones_own_unless_all_are_meant(database: Database, mine: Feedback) -> None:
    keep(database, "a")
    number = mine.rate("a", "up").id
    you = of(database, principal="you")
    with pytest.raises(NotFoundError, match=f"there is no rating {number}"):
        you.delete(number)
    with pytest.raises(NotFoundError):
        of(database, tenant="other").delete(number, everybody=True)
    with pytest.raises(NotFoundError):
        you.delete(number, everybody=True, collections=("finance",))
    you.delete(number, everybody=True)
    assert mine.page(9) == []
    for gone in (number, 0, -1, 2**63):
        with pytest.raises(NotFoundError):
            mine.delete(gone)
