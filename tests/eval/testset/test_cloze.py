"""Questions by cloze: what is asked, of which sentences, and that nothing else completes them."""

from dataclasses import replace

import pytest

from ragkit.errors import UsageError
from ragkit.testing import FakeEmbedder, FakeStore, fill, new_document
from ragkit.text.language import language
from ragkit.types import NewDocument
from ragkit_eval.testset.blanks import blanks
from ragkit_eval.testset.make import TestSet, make
from ragkit_eval.testset.places import flat, places
from ragkit_eval.testset.sources import in_drawn_order, read_source, short_names

PUMP = new_document(
    "pump.md",
    "# The PX-300 pump",
    "The PX-300 pump needs 42 litres of cooling water in each hour of its work. It weighs a lot."
    " Each bearing of the pump is greased with Molykote before the summer begins.",
    "Staff in Leeds replace the filters of all machines after 90 days of continuous operation.",
    title="Pump manual",
)
ROOM = new_document(
    "机房.md",
    "机房温度应保持在22℃，相对湿度不得超过百分之六十。这里不得饮食。柴油发电机每年三月进行一次满载试验。",
    title="机房管理规定",
)


def _store(*documents: NewDocument) -> FakeStore:
    store = FakeStore()
    fill(store, FakeEmbedder(), [_with_language(one) for one in documents])
    return store


def _with_language(document: NewDocument) -> NewDocument:
    return replace(document, language=language(document.text))


def _made(*documents: NewDocument, questions: int = 20, unanswerable: float = 0.0) -> TestSet:
    store = _store(*documents)
    return make(store, "default", questions=questions, unanswerable=unanswerable, only_cloze=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The claim is paid on 31 March 2027 to everybody in Galway.", ["31 March 2027", "Galway"]),
        ("A week on call is paid with €1,240 and a free morning.", ["€1,240"]),
        ("Reception is staffed from 07:30 to 18:00 by two people.", ["07:30", "18:00", "two"]),
        ("The RL-400 runs for 12.5% longer with version 1.2.3 of it.", ["12.5%", "RL-400"]),
        ("Where the two sites differ, ask a designer within four days.", ["four"]),
        ("年假须在6月30日之前休完，夜班补贴60元。", ["6月30日", "60"]),
        ("恢复演练在每年五月进行，要求在六小时内完成。", ["五月", "六小时"]),
    ],
)
def test_facts_are_asked_for_before_names_and_words(text: str, expected: list[str]) -> None:
    found = [one for one in blanks(text, lambda term: 1.0) if one.kind != "term"]
    assert [text[one.start : one.end] for one in found] == expected


def test_without_a_fact_a_word_is_asked_for() -> None:
    text = "激光干涉仪是实验室的最高标准器。"
    assert [text[one.start : one.end] for one in blanks(text, lambda term: 1.0)] == ["激光干涉仪"]
    text = "The older gauges were adjusted by the apprentices."
    rare = blanks(text, lambda term: 5.0 if term == "apprentic" else 1.0)
    assert (text[rare[0].start : rare[0].end], rare[0].kind) == ("apprentices", "term")


def test_what_stands_twice_is_not_asked_for() -> None:
    text = "In 2025 the entitlement was 24 days, and days of 2025 are counted apart."
    assert [text[b.start : b.end] for b in blanks(text, lambda _: 1.0) if b.kind == "number"] == [
        "24"
    ]


def test_a_rarer_name_is_asked_for_first() -> None:
    text = "The visitors of Galway and of Suzhou need a visitor pass."
    rare = blanks(text, lambda term: 5.0 if term == "suzhou" else 1.0)
    assert text[rare[0].start : rare[0].end] == "Suzhou"


@pytest.mark.parametrize(
    "text",
    [
        "This page applies to all employees who have an Irish contract with us.",
        "They receive 20 weeks of leave at full pay from the first day on.",
        "The People team revises it every January and announces changes in between.",
        "As shown in Table 3, the error grows with the distance to the river.",
        "See https://example.com/leave for the 12 rules that apply to everybody here.",
        "| Level | Meaning | First reaction in minutes after the page | Updates |.",
        "How many days of annual leave does a full-time employee have in 2026?",
        "Too short to ask.",
        "本规定适用于苏州厂区的全体员工和来访的客户单位人员。",
        "它的重量是三十公斤，需要两名工人才能搬运到现场。",
    ],
)
def test_sentences_that_lean_on_others_are_left_out(text: str) -> None:
    source = read_source(store := _store(new_document("a.md", text)), store.documents("default")[0])
    assert [place.text for place in places(source)] == []


def test_a_list_item_is_asked_about_without_its_mark() -> None:
    text = "1. Put a notice on the status page within 20 minutes of an outage."
    store = _store(new_document("a.md", text))
    (place,) = places(read_source(store, store.documents("default")[0]))
    assert place.text == text[3:]
    assert (place.start, place.end) == (3, len(text))


def test_line_breaks_go_between_chinese_characters_and_become_spaces_elsewhere() -> None:
    assert flat("定位\n分辨率为 0.1\n  mm 和\n两行") == "定位分辨率为 0.1 mm 和两行"


def test_each_question_has_its_gap_its_answer_and_the_place_in_the_source() -> None:
    made = _made(PUMP, ROOM)
    found = {question.text: question for question in made.questions}
    litres = found[
        "Complete the sentence on Pump manual: The PX-300 pump needs ____ litres of cooling"
        " water in each hour of its work."
    ]
    assert litres.answers == ("42",)
    assert litres.relevant == {"pump.md": 1}
    assert (litres.group, litres.answerable) == ("pump.md", True)
    assert litres.tags == {"kind": "cloze", "language": "en"}
    degrees = found["填空（见机房管理规定）：机房温度应保持在____℃，相对湿度不得超过百分之六十。"]
    assert degrees.answers == ("22",)
    assert degrees.tags["language"] == "zh"
    texts = {"pump.md": PUMP.text, "机房.md": ROOM.text}
    for question in made.questions:
        (place,) = question.excerpts
        assert texts[place.document][place.start : place.end] == place.text
        assert question.answers[0] in place.text
        assert question.answers[0] not in question.text.split(": ", 1)[-1]
    assert len({question.id for question in made.questions}) == len(made.questions) == 5


def test_documents_are_asked_about_in_turn() -> None:
    made = _made(PUMP, ROOM, questions=2)
    assert {question.group for question in made.questions} == {"pump.md", "机房.md"}


def test_a_sentence_that_another_one_completes_is_not_asked_about() -> None:
    text = "The PX-500 pump needs 57 litres of cooling water in each hour of its work."
    made = _made(PUMP, new_document("other.md", text))
    assert all("litres" not in question.text for question in made.questions)
    assert made.rejected["another sentence says nearly the same"] == 2


def test_a_seed_makes_the_same_questions_and_another_one_others() -> None:
    store = _store(PUMP, ROOM)
    first, again, other = (
        [q.text for q in make(store, "default", questions=3, seed=seed).questions]
        for seed in (1, 1, 2)
    )
    assert first == again != other


def _order(store: FakeStore, seed: int) -> list[str]:
    documents = store.documents("default")
    names = short_names([document.uri for document in documents])
    return [document.uri for document in in_drawn_order(documents, seed, names)]


def test_a_document_more_leaves_the_order_of_the_others() -> None:
    store = _store(PUMP, ROOM)
    before = _order(store, 7)
    fill(store, FakeEmbedder(), [new_document("new.md", "Something new is here.")])
    after = _order(store, 7)
    assert [uri for uri in after if uri != "new.md"] == before


def test_what_its_heading_says_is_not_asked_for() -> None:
    text = "The manual for staff of the workshop was written by the people who live in Galway."
    made = _made(new_document("a.md", text, title="Rules for Galway"))
    assert made.rejected == {"its heading gives the answer away": 1}


def test_what_cannot_be_asked_about_is_said() -> None:
    store = FakeStore()
    store.create_collection("default")
    with pytest.raises(UsageError, match="has no documents: take some in with `ragkit ingest"):
        make(store, "default", questions=1)
    with pytest.raises(UsageError, match="none of the 1 documents in collection 'default' is Chin"):
        make(_store(PUMP), "default", questions=1, language="zh")


def test_only_a_language_that_was_asked_for() -> None:
    made = make(_store(PUMP, ROOM), "default", questions=10, language="zh")
    assert {question.group for question in made.questions} == {"机房.md"}


@pytest.mark.parametrize(
    ("uris", "names"),
    [
        (["/a/b/c.md"], ["c.md"]),
        (["/a/b/c.md", "/a/b/d/c.md"], ["/a/b/c.md", "d/c.md"]),  # c.md is the end of both
        (["/a/b/c.md", "/a/bc/c.md"], ["b/c.md", "bc/c.md"]),
        (["upload:1", "/a/c.md"], ["upload:1", "/a/c.md"]),
        ([], []),
    ],
)
def test_a_document_is_named_by_its_end_where_that_is_its_own(
    uris: list[str], names: list[str]
) -> None:
    assert list(short_names(uris).values()) == names


def test_a_set_is_the_same_wherever_the_documents_came_from() -> None:
    here, there = (
        make(
            _store(*(replace(one, uri=f"{folder}/{one.uri}") for one in (PUMP, ROOM))),
            "default",
            questions=4,
        ).questions
        for folder in ("/home/me/texts", "/srv/texts")
    )
    assert here == there
    assert {question.group for question in here} == {"pump.md", "机房.md"}
