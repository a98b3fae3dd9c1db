"""Quotation marks, + and - in a question are preferences; in a search they demand."""

from __future__ import annotations

import pytest

from ragkit.answer.write.extract import ExtractiveGenerator
from ragkit.knowledge.base import KnowledgeBase
from ragkit.retrieve.words.marks import read_preferences
from ragkit.testing import FakeEmbedder, FakeStore, fill, new_document

OFFICE = new_document("office.md", "Dogs are friendly guests: the office welcomes them.")
SMOKING = new_document("smoking.md", "Smoking is not allowed anywhere in the building.")
FORCE = new_document("force.md", "Force and majeure are two words.", "A force majeure clause.")
LEAVE = new_document("请假.md", "病假期间的工资按基本工资的80%发放。", "员工请假要填表。")
PHRASE = new_document("工资.md", "病假工资由财务发放。")


def knowledge(*documents: object) -> KnowledgeBase:
    store = FakeStore()
    fill(store, FakeEmbedder(), documents)  # type: ignore[arg-type]
    return KnowledgeBase(store, FakeEmbedder(), ExtractiveGenerator(), collection="default")


@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        ('Is the office "dog friendly"?', OFFICE),
        ("smoking -anywhere", SMOKING),
        ("+smoking in the building", SMOKING),
        ("《员工请假制度》里“病假工资”怎么算？", LEAVE),
        ("「病假工資」在员工请假时怎么发放工资", LEAVE),
    ],
)
def test_a_question_with_marks_is_answered_though_no_passage_has_them(
    question: str, quoted: object
) -> None:
    kb = knowledge(OFFICE, SMOKING, LEAVE)
    answer = kb.ask(question)
    assert not answer.refused, answer.reason
    assert answer.citations[0].uri == quoted.uri  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("question", "phrase"),
    [
        ('Is the office "dog friendly"?', "dog friendly"),
        ("“病假工资”怎么发放", "病假工资"),
    ],
)
def test_an_answer_says_that_a_phrase_stands_nowhere(question: str, phrase: str) -> None:
    assert knowledge(OFFICE, LEAVE).ask(question).searched["phrase"] == phrase


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ('What is "force majeure"?', "A force majeure clause."),
        ("“病假工资”谁发", "病假工资由财务发放。"),
    ],
)
def test_passages_that_have_the_phrase_come_first(question: str, first: str) -> None:
    answer = knowledge(FORCE, LEAVE, PHRASE).ask(question)
    assert answer.hits[0].text == first
    assert "phrase" not in answer.searched


@pytest.mark.parametrize("query", ['the "dog friendly" office', "“病假工资”发放"])
def test_a_search_still_demands_its_phrases(query: str) -> None:
    assert knowledge(OFFICE, LEAVE).search(query) == []


@pytest.mark.parametrize(
    "question", ['"', '""', '"dog', "-", "+ -", "“”", "a " * 200 + '"b c"', 'two\nlines "of text"']
)
def test_marks_that_mean_nothing_leave_the_question_as_it_is(question: str) -> None:
    assert read_preferences(question).text == question
    assert read_preferences(question).phrases == ()


@pytest.mark.parametrize("question", ["房租每月交多少", "住哪儿"])
def test_a_chinese_question_without_a_pair_in_common_is_searched_by_characters(
    question: str,
) -> None:
    others = [new_document(f"{n}.txt", f"第{n}份文件说的是别的事。") for n in range(8)]
    lease = new_document("rent.txt", "月租金为900元。租客居住的地址是北京。")
    kb = knowledge(*others, lease).adapted(mode="lexical")
    assert lease.uri in {hit.uri for hit in kb.ask(question).hits}
    assert kb.search(question) == []


@pytest.mark.parametrize(
    ("documents", "question"),
    [
        ((new_document("rent.txt", "月租金为900元。租约于2027年5月31日到期。"),), "每月交多少房租"),
        ((new_document("a.txt", "The rent is 900 euros."),), "how much do I pay"),
    ],
)
def test_a_collection_of_few_passages_is_read_whole(
    documents: tuple[object, ...], question: str
) -> None:
    """Whether or not a pair of characters is the same: a person would look at all of it, too."""
    assert len(knowledge(*documents).adapted(mode="lexical").ask(question).hits) == 1
    assert knowledge(*documents).adapted(mode="lexical").search(question) == []
