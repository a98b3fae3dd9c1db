"""Questions from thumbs up: the passages that the answers cite, in the documents as they are."""

from collections import Counter
from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from ragkit import Settings
from ragkit.store.open import Database, open_database
from ragkit.store.people.feedback import Feedback
from ragkit.store.people.kept_answers import KeptAnswers
from ragkit.types import Answer, Citation
from ragkit_tune.data.feedback import rated_questions
from ragkit_tune.data.questions import Question
from ragkit_tune.data.sources import Sources
from tests.tune.data.corpora import store_documents

FIRST = "Everybody has 25 days of leave in a year, which begins in April."
SECOND = "Whoever is ill calls the office before nine and sends a certificate."
SETTINGS = Settings(database_url=SecretStr("postgresql://unused"))


@pytest.fixture
def database(fresh_database: str) -> Iterator[Database]:
    with open_database(Settings(database_url=SecretStr(fresh_database))) as opened:
        yield opened


def cite(quote: str, start: int, *, uri: str = "/d/leave.md") -> Citation:
    return Citation(1, 1, uri, "Leave", None, start, start + len(quote), quote, "verified")


def rate(
    database: Database,
    question: str,
    *citations: Citation,
    rating: str = "up",
    refused: bool = False,
    collection: str = "hr",
    query: str | None = None,
) -> None:
    answer = Answer("So it is [1].", refused, "", citations)
    number = f"chatcmpl-{question.encode().hex()}"
    KeptAnswers(database.pool, "default", "anna", keep_days=30).keep(
        number, collection=collection, question=question, query=query, answer=answer, completion={}
    )
    feedback = Feedback(database.pool, "default", "anna", keep_days=30)
    feedback.rate(number, "up" if rating == "up" else "down")


def rated(database: Database, left_out: Counter[str]) -> list[Question]:
    kb = store_documents(database, "hr", {"/d/leave.md": [FIRST, SECOND]})
    return rated_questions(kb, SETTINGS, Sources(kb.store, "hr"), left_out)


def test_a_thumbs_up_gives_the_passages_that_are_cited(database: Database) -> None:
    at = FIRST.index("25 days")
    rate(database, "And for me?", cite("25 days", at), query="How many days of leave have I?")
    rate(database, "如何请病假？", cite("25 days", at), cite(SECOND[:20], len(FIRST) + 2))
    left_out: Counter[str] = Counter()
    first, second = rated(database, left_out)
    assert (first.text, first.how, first.language) == (
        "How many days of leave have I?",
        "feedback",
        "en",
    )
    assert [place.passage.text for place in first.places] == [FIRST]
    assert second.language == "zh"
    assert [place.passage.text for place in second.places] == [FIRST, SECOND]
    assert not left_out


def test_a_quotation_that_moved_is_found_again(database: Database) -> None:
    rate(database, "Who calls?", cite("Whoever is ill", 3))
    (question,) = rated(database, Counter())
    (place,) = question.places
    assert place.passage.text == SECOND
    assert (place.span.start, place.span.end) == (len(FIRST) + 2, len(FIRST) + 16)


def test_what_cannot_be_used_is_counted_and_the_rest_ignored(database: Database) -> None:
    rate(database, "Changed?", cite("It said 24 days then", 4))
    rate(database, "Gone?", cite("25 days", 0, uri="/d/gone.md"))
    rate(database, "Without?")
    rate(database, "Down?", cite("25 days", 14), rating="down")
    rate(database, "Refused?", refused=True)
    rate(database, "Elsewhere?", cite("25 days", 14), collection="other")
    left_out: Counter[str] = Counter()
    assert rated(database, left_out) == []
    assert left_out == {
        "its document changed since it was labelled": 1,
        "its document is not in the collection": 1,
        "its answer cites nothing": 1,
    }
