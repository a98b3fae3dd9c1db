"""Statistics of rows: a planted mislabelled row is the oddest, a repeated text is counted."""

from collections.abc import Iterator

import pytest

from ragkit import KnowledgeBase
from ragkit.types import Span
from ragkit_tune.data.ask import choose_passages
from ragkit_tune.data.card import detectable
from ragkit_tune.data.checks import Row
from ragkit_tune.data.negatives import Miner
from ragkit_tune.data.quality import describe, find_odd, repetition
from ragkit_tune.data.questions import Place, Question, drawn_share, folded
from ragkit_tune.data.sources import Sources
from tests.databases import Databases
from tests.tune.data.corpora import SUBJECTS, documents, store_documents


@pytest.fixture(scope="module")
def kb(databases: Databases) -> Iterator[KnowledgeBase]:
    with databases.open() as database:
        yield store_documents(database, "plants", documents())


WRONG = "What is said of the pumps that move water from the river to the tank?"


def rows(kb: KnowledgeBase, *, wrong: int = -1) -> list[Row]:
    """Return a row for each paragraph; row `wrong` has another paragraph's question."""
    sources, miner = Sources(kb.store, kb.collection), Miner(kb, count=2, seed=0)
    made: list[Row] = []
    for document in sources.documents:
        for passage, subject in zip(sources.read(document).passages, SUBJECTS, strict=True):
            text = f"What is said of the {subject} at {document.uri[3:-3]}?"
            if len(made) == wrong:
                text = WRONG
            place = Place(passage, Span(passage.start, passage.end))
            question = Question(text, (place,), "labelled", "en")
            rivals = miner.mine(question, place, lambda hit: True)
            made.append(Row(question, place, "train", rivals))
    return made


def test_a_mislabelled_row_is_listed_first(kb: KnowledgeBase) -> None:
    odd = find_odd(rows(kb, wrong=33), kb.store, kb.embedder, 0)
    assert odd[0].row.question.text == WRONG
    assert odd[0].z > 3


def test_few_rows_have_no_odd_ones(kb: KnowledgeBase) -> None:
    assert find_odd(rows(kb, wrong=3)[:20], kb.store, kb.embedder, 0) == []


def test_the_passages_to_ask_about_begin_with_the_least_certain(kb: KnowledgeBase) -> None:
    made = rows(kb, wrong=33)[:60]
    lines = choose_passages(made, kb.store, kb.collection, kb.embedder, count=10, seed=0)
    assert len(lines) == 10
    (first,) = lines[0]["spans"]
    assert first["text"] == made[33].place.passage.text
    assert "the model in use finds another passage before this one" in lines[0]["tags"]["ask"]
    covered = {row.place.passage.text for row in made}
    distant = [line for line in lines if "no row is about" in line["tags"]["ask"]]
    assert len(distant) == 5
    assert {line["spans"][0]["text"] for line in distant} & covered == set()


def test_lengths_are_counted_in_the_models_tokens(kb: KnowledgeBase) -> None:
    facts = describe(rows(kb)[:4], kb.embedder, 13)
    assert facts["positive_tokens"] == {
        "least": 13, "quarter": 13, "half": 15, "three_quarters": 15, "most": 17
    }  # fmt: skip
    assert (facts["truncated"], facts["max_tokens"], facts["passages"]) == (2, 13, 4)
    assert facts["answers_cut"] == 2  # the labels are of passages, which end behind the cut
    assert facts["languages"] == {"en": 4}


def test_repetition_is_the_share_of_repeated_runs() -> None:
    assert repetition(["one two three four five six", "one two three four five ten"]) == 0.5
    assert repetition(["one two three"]) == 0.0


def test_what_a_number_of_questions_can_show() -> None:
    assert [round(detectable(n), 3) for n in (25, 100, 225)] == [0.062, 0.031, 0.021]


def test_draws_are_the_same_everywhere() -> None:
    assert round(drawn_share(0, "a.md"), 4) == 0.764
    assert folded("Ｈow  LONG?\n") == "how long?"
