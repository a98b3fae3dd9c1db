"""The default set, without a language model: its kinds, their gold, and what is in no document."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ragkit.retrieve.words.marks import read_marks
from ragkit.testing import FakeEmbedder, FakeStore, fill, new_document
from ragkit.text.language import language
from ragkit.types import NewDocument
from ragkit_eval.sets import Question, read_set
from ragkit_eval.testset.absent import Collected
from ragkit_eval.testset.absent_properties import OF_PEOPLE, OF_THINGS
from ragkit_eval.testset.absent_terms import CHINESE, ENGLISH, unknown_term_questions
from ragkit_eval.testset.cell_wording import cell_question
from ragkit_eval.testset.definitions import definition_questions
from ragkit_eval.testset.headings import heading_question
from ragkit_eval.testset.kinds import SHOWS
from ragkit_eval.testset.label import write
from ragkit_eval.testset.make import TestSet, make
from ragkit_eval.testset.outline import Section, headings_at
from ragkit_eval.testset.sources import read_source
from ragkit_eval.testset.table_questions import table_questions

STAFF = """# Staff directory

The reception desk of the “Harrow Street” clinic answers all outside calls on +44 20.

| Name | Extension | Room |
| - | - | - |
| Li Wei | 4711 | 2.14 |
| Maria Kowalski | 4725 | 0.08 |
| Tom Adeyemi | 4733 | 1.05 |

## When the switchboard fails

Use the red telephone behind the reception desk and tell the technical service, which comes at once.
"""
PUMP = """# The "PX" pump

The PX-300 pump needs 42 litres of cooling water in each hour of its work. The pump weighs 85 kg
with its lid. The warranty begins with the delivery of the pump to the customer.

A locum is a doctor who stands in for a colleague. Charging is limited to 90 minutes by the staff.

## Warranty

| Product | Warranty | Limit 2026 |
| - | - | - |
| Filters | 12 months | €165 |
| Seals | 36 months | €170 |
"""
LIBRARY = """# 图书馆通讯录

馆内同事请直接拨分机，外线由“总服务台”接听。

| 姓名 | 职务 | 分机 |
| - | - | - |
| 李薇 | 馆长 | 8001 |
| 陈大勇 | 采编部主任 | 8025 |
| 赵敏 | 少儿部主任 | 8037 |

## 借阅规则

持普通读者证最多可以借阅10册图书。馆际互借是指本馆没有的图书向其他图书馆代为借入的服务。
"""


def _document(name: str, text: str, title: str) -> NewDocument:
    made = new_document(name, *text.split("\n\n"), title=title)
    return replace(made, language=language(text))


DOCUMENTS = (
    _document("staff.md", STAFF, "Staff directory"),
    _document("pump.md", PUMP, "Pump manual"),
    _document("通讯录.md", LIBRARY, "图书馆通讯录"),
)


@pytest.fixture
def collected() -> Collected:
    store = FakeStore()
    fill(store, FakeEmbedder(max_tokens=400), DOCUMENTS)
    return Collected(store, "default")


def _made(collected: Collected, questions: int = 40, unanswerable: float = 0.25) -> TestSet:
    return make(collected.store, "default", questions=questions, unanswerable=unanswerable)


def _of(made: Sequence[Question], kind: str) -> dict[str, tuple[str, ...]]:
    return {one.text: one.answers for one in made if one.tags["kind"] == kind}


def test_both_languages_have_questions_of_every_kind(collected: Collected) -> None:
    made = _made(collected)
    by_language = {
        name: {one.tags["kind"] for one in made.questions if one.tags["language"] == name}
        for name in ("en", "zh")
    }
    assert by_language["en"] == SHOWS.keys() - {"written"}
    assert by_language["zh"] >= {"table", "number", "definition", "heading", "other-thing"}
    assert set(made.kinds) <= set(SHOWS)
    assert sum(made.kinds.values()) == len(made.questions)


def test_a_question_for_a_cell_has_the_cell_as_its_answer(collected: Collected) -> None:
    made = _made(collected, 80).questions
    table = _of(made, "table")
    assert table["What is Li Wei's extension?"] == ("4711",)
    assert table["李薇的分机是多少？"] == ("8001",)
    assert table["Regarding warranty, how much is the limit in 2026 for seals?"] == ("€170",)
    texts = {one.uri: one.text for one in DOCUMENTS}
    for one in made:
        for place in one.excerpts:
            there = texts[place.document][place.start : place.end]
            assert there == place.text or one.tags["kind"] == "heading"
            assert not one.answers or one.answers[0] in " ".join(there.replace("**", "").split())


def test_no_question_demands_anything_of_a_search(collected: Collected) -> None:
    """Titles, headings and sentences have quotation marks and signs; no question has."""
    for one in _made(collected, 80).questions:
        assert read_marks(one.text).demands == (), one.text


def test_a_fifth_is_unanswerable_and_stands_in_no_document(collected: Collected) -> None:
    made = _made(collected, 50, 0.2)
    without = [one for one in made.questions if one.answerable is False]
    assert len(without) * 5 >= len(made.questions)
    texts = " ".join(one.text for one in DOCUMENTS)
    for one in without:
        assert (one.answers, one.excerpts, one.relevant) == ((), (), {})
        if one.tags["kind"] == "other-thing" and one.tags["language"] == "zh":
            name = one.text.partition("的")[0]
            assert name not in texts
    other = _of(made.questions, "other-thing")
    assert any("Kowalski" in text or "Adeyemi" in text for text in other)
    assert not any(f"{name}'s" in text for text in other for name in ("Li Wei", "Tom Adeyemi"))


def test_what_any_document_speaks_of_is_not_asked_as_if_none_did() -> None:
    store = FakeStore()
    spoken = " ".join(word for one in (*OF_PEOPLE, *OF_THINGS) for word in one.words)
    terms = " ".join(word for words in (*ENGLISH.values(), *CHINESE.values()) for word in words)
    told = _document("told.md", f"The house speaks of {spoken} and of {terms}.", "All")
    fill(store, FakeEmbedder(max_tokens=2000), [*DOCUMENTS, told])
    made = make(store, "default", questions=60, unanswerable=1.0)
    assert set(made.kinds) == {"other-thing"}
    assert made.rejected["unanswerable: the collection speaks of that property"] > 0
    assert made.rejected["unanswerable: the collection has the term"] > 0


def test_a_row_that_stands_for_all_others_answers_for_what_has_none() -> None:
    rows = "| City | Limit |\n| - | - |\n| Dublin | €165 |\n| London | €185 |\n| {} | €140 |\n"
    for last, kinds in (("Rest of Europe", set()), ("Paris", {"other-thing"})):
        store = FakeStore()
        text = f"# Hotels\n\n{rows.format(last)}"
        fill(store, FakeEmbedder(max_tokens=400), [_document("hotels.md", text, "Hotels")])
        made = make(store, "default", questions=9, unanswerable=1.0)
        assert set(made.kinds) - {"unknown-term"} == kinds


def test_a_definition_that_stands_twice_is_not_asked_for(collected: Collected) -> None:
    again = _document("again.md", "# More\n\nA locum is a nurse for the night.", "More")
    fill(collected.store, FakeEmbedder(max_tokens=400), [again])
    (pump,) = [one for one in collected.store.documents("default") if one.uri == "pump.md"]
    source = read_source(collected.store, pump)
    assert list(definition_questions(collected, source, 0)) == [
        "another place says nearly the same"
    ]


def test_a_table_of_two_rows_of_one_name_is_not_asked_for_them() -> None:
    store = FakeStore()
    text = "| Product | Warranty |\n| - | - |\n| Gauge | 60 months |\n| Gauge | 36 months |\n"
    fill(store, FakeEmbedder(max_tokens=400), [_document("a.md", text, "")])
    (document,) = store.documents("default")
    assert list(table_questions(Collected(store, "default"), read_source(store, document), 0)) == []


@pytest.mark.parametrize(
    ("key", "header", "value", "question"),
    [
        ("blood tests", "Opens", "7:30", "When do blood tests open?"),
        ("billing", "Handled by", "Finance office", "By whom is billing handled?"),
        ("SEV-1", "Meaning", "Data is being lost", "What does SEV-1 mean?"),
        ("influenza", "Doses in stock", "180", "How many doses in stock are there for influenza?"),
        ("influenza", "Shelf life", "12 months", "How long is the shelf life for influenza?"),
        ("Security briefing", "Who", "Officer", "Who is responsible for Security briefing?"),
        ("billing", "Answer within", "10 days", ""),
        ("Clean the lens", "Interval", "6 months", ""),
        ("replace the seal", "Interval", "24 months", ""),
        ("billing", "Remarks", "not on Fridays", ""),
    ],
)
def test_a_header_decides_how_an_english_cell_is_asked_for(
    key: str, header: str, value: str, question: str
) -> None:
    assert cell_question(key, header, value, language="en") == question


@pytest.mark.parametrize(
    ("key", "header", "value", "question"),
    [
        ("古籍部", "开放时间", "9:00至16:30", "古籍部的开放时间是几点到几点？"),
        ("名家讲座", "地点", "一楼报告厅", "名家讲座的地点在哪里？"),
        ("系统日志", "备份频率", "每天凌晨4点", "系统日志的备份频率是多久？"),
        ("少儿部", "负责人", "赵敏", "少儿部的负责人是谁？"),
        ("E11", "含义", "仪器内有水汽", "E11是什么意思？"),
        ("少儿部", "备注", "周一闭馆", ""),
    ],
)
def test_a_header_decides_how_a_chinese_cell_is_asked_for(
    key: str, header: str, value: str, question: str
) -> None:
    assert cell_question(key, header, value, language="zh") == question


@pytest.mark.parametrize(
    ("heading", "title", "question"),
    [
        ("How to complain", "Complaints", "Regarding complaints, how do I complain?"),
        ("How a claim is handled", "Warranty", "Regarding Warranty, how is a claim handled?"),
        ("What is not covered", "Warranty", "Regarding Warranty, what is not covered?"),
        ("Charging electric cars", "Parking", "What should I know about charging electric cars?"),
        ("Where we are and when we are open", "Welcome", ""),
        ("Overview", "Welcome", ""),
        ("预约座位", "自习室", "怎么预约座位？"),
        ("病假", "员工休假制度", "按照员工休假制度，病假是怎么规定的？"),
        ("食堂", "生活指南", "关于食堂有哪些规定？"),
        ("附则", "员工休假制度", ""),
    ],
)
def test_a_heading_becomes_what_somebody_would_ask(heading: str, title: str, question: str) -> None:
    chinese = heading.isascii() is False
    section = Section(heading, (title,), 0, 0)
    assert heading_question(section, title, "zh" if chinese else "en", "") == question


def test_headings_are_read_from_the_text(collected: Collected) -> None:
    (staff,) = [one for one in collected.store.documents("default") if one.uri == "staff.md"]
    source = read_source(collected.store, staff)
    assert headings_at(source, source.text.index("red telephone")) == (
        "Staff directory",
        "When the switchboard fails",
    )


def test_unknown_terms_are_those_that_no_passage_has(collected: Collected) -> None:
    (library,) = [one for one in collected.store.documents("default") if one.uri == "通讯录.md"]
    asked = list(unknown_term_questions(collected, read_source(collected.store, library), 0))
    assert len(asked) == len(CHINESE)
    assert all(isinstance(one, Question) and one.text.endswith("是什么意思？") for one in asked)


def test_a_seed_makes_the_same_set_and_the_file_is_read_again(
    collected: Collected, tmp_path: Path
) -> None:
    first, again = (_made(collected).questions for _ in range(2))
    assert first == again
    write(tmp_path / "set.jsonl", first)
    assert read_set(tmp_path / "set.jsonl").questions == first
    rows = (tmp_path / "set.jsonl").read_text(encoding="utf-8").splitlines()
    headings = [row for row in map(json.loads, rows) if row["tags"]["kind"] == "heading"]
    assert headings
    assert all("answers" not in row and row["answerable"] for row in headings)
