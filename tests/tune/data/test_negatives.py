"""Hard negatives on a real database: what is refused, each for its reason."""

from collections.abc import Mapping, Sequence

import pytest

from ragkit import KnowledgeBase
from ragkit.store.open import Database
from ragkit.types import Hit, Span
from ragkit_tune.data.negatives import Miner, Rivals, highest
from ragkit_tune.data.questions import Place, Question
from ragkit_tune.data.sources import Sources
from tests.tune.data.corpora import store_documents

QUERY = "How often are the filters of the turbine replaced?"
GOLD = "The filters of the turbine are replaced after 90 days of operation."
CLOSE = [f"The filters of boat {n} are cleaned by the crew." for n in range(4)]
FILLER = [f"The turbine of hall {n} was painted by apprentices from Cork." for n in range(30)]


def mine(
    database: Database,
    name: str,
    paragraphs: Sequence[str],
    *,
    answers: tuple[str, ...] = (),
    exact: bool = True,
    beside: Mapping[str, Sequence[str]] | None = None,
    without: str = "",
    gold: str = GOLD,
) -> Rivals:
    """Mine negatives for the question, which a document's only passage answers."""
    kb = store_documents(
        database, name, {"/d/gold.md": [gold], "/d/x.md": paragraphs, **(beside or {})}
    )
    sources = Sources(kb.store, name)
    (document,) = sources.named("/d/gold.md")
    (passage,) = sources.read(document).passages
    place = Place(passage, Span(0, len(gold)), exact)
    grades = {} if exact else {"/d/gold.md": 1}
    question = Question(QUERY, (place,), "labelled", "en", answers=answers, grades=grades)

    def is_allowed(hit: Hit) -> bool:
        return hit.uri != without

    return Miner(kb, count=50, seed=0).mine(question, place, is_allowed)


def test_the_margin_is_a_distance_also_below_zero() -> None:
    assert highest(0.8) == pytest.approx(0.76)
    assert highest(-0.4) == pytest.approx(-0.42)  # a product would allow -0.38, above the positive


def test_the_first_ranks_are_left_to_what_may_answer_too(database: Database) -> None:
    rivals = mine(database, "ranks", [*CLOSE, *FILLER])
    assert set(rivals.negatives) & {GOLD, *CLOSE[:3]} == set()
    assert set(rivals.negatives) <= {CLOSE[3], *FILLER}
    assert len(rivals.negatives) == 31
    assert rivals.best is not None
    assert rivals.margin == rivals.positive - rivals.best
    assert rivals.positive > rivals.best


def test_what_is_as_similar_as_the_positive_is_refused(database: Database) -> None:
    rivals = [f"How often are the filters of the turbine replaced? Ask {n}." for n in range(8)]
    mined = mine(database, "similar", [*rivals, *FILLER])
    assert set(mined.negatives) & set(rivals) == set()
    assert mined.refused == {
        "as close to the question as the right passage": 4,
        "it answers too": 1,
    }
    assert mined.margin is not None
    assert mined.margin < 0


def test_a_copy_without_the_answer_is_refused(database: Database) -> None:
    story = " ".join(f"Apprentice{n} oiled door{n} in spring." for n in range(8))
    longer = f"{story} {GOLD}"
    mined = mine(database, "stories", [*CLOSE, story, *FILLER], gold=longer)
    assert story not in mined.negatives
    assert mined.refused["nearly the text of the right passage"] == 1


def test_a_passage_that_holds_the_answer_is_refused(database: Database) -> None:
    false = "Paul painted some other hall after 90 days of sun on the turbine."
    texts = [*CLOSE, false, *FILLER]
    assert false in mine(database, "unanswered", texts).negatives
    rivals = mine(database, "answered", texts, answers=("90 days",))
    assert false not in rivals.negatives
    assert rivals.refused == {"it holds the answer": 1}


def test_a_copy_of_the_sentence_in_another_passage_is_refused(database: Database) -> None:
    longer = f"Apprentices paint halls and boats and gates in spring. {GOLD} Tom said so in Cork."
    negatives = mine(database, "copies", [*CLOSE, *FILLER, longer]).negatives
    assert longer not in negatives


def test_no_other_passage_of_a_document_that_is_graded_whole(database: Database) -> None:
    beside = {"/d/gold.md": [GOLD, *FILLER[:5]]}
    rivals = mine_whole(database, beside)
    assert set(rivals.negatives) & set(FILLER[:5]) == set()
    assert rivals.refused["it answers too"] == 5


def mine_whole(database: Database, texts: Mapping[str, Sequence[str]]) -> Rivals:
    """Mine negatives for a question whose whole document is graded."""
    kb = store_documents(database, "whole", {**texts, "/d/x.md": [*CLOSE, *FILLER[5:]]})
    sources = Sources(kb.store, "whole")
    (document,) = sources.named("gold")
    passage = sources.read(document).passages[0]
    place = Place(passage, Span(passage.start, passage.end), is_exact=False)
    question = Question(QUERY, (place,), "labelled", grades={"/d/gold.md": 1})
    return Miner(kb, count=50, seed=0).mine(question, place, lambda hit: True)


def test_passages_in_another_language_are_refused(database: Database) -> None:
    chinese = [f"turbine turbine {n}号厅的涡轮机由科克的学徒油漆，已经完成。" for n in range(3)]
    rivals = mine(database, "languages", [*CLOSE, *FILLER[:9], *chinese])
    assert set(rivals.negatives) & set(chinese) == set()
    assert rivals.refused["in another language"] == 3


def test_documents_that_are_not_allowed_give_none(database: Database) -> None:
    rivals = mine(database, "allowed", [*CLOSE, *FILLER], without="/d/x.md")
    assert (rivals.negatives, dict(rivals.refused)) == ((), {})


def test_a_query_that_the_model_does_not_read_has_none(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragkit.testing.FakeEmbedder.reads", lambda self, text: 0.2)
    rivals = mine(database, "unread", [*CLOSE, *FILLER])
    assert (rivals.negatives, rivals.vector) == ((), None)
    assert rivals.refused == {"the embedding model does not read the query": 1}


def test_the_best_passage_of_a_document_is_what_search_finds_first(database: Database) -> None:
    kb: KnowledgeBase = store_documents(
        database, "best", {"/d/x.md": [*FILLER, GOLD], "/d/y.md": CLOSE}
    )
    (document,) = Sources(kb.store, "best").named("x.md")
    passage = Miner(kb, count=1, seed=0).best_passage(QUERY, document)
    assert passage is not None
    assert passage.text == GOLD
    assert Miner(kb, count=1, seed=0).best_passage("?!", document) is None
