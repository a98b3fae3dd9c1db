"""Short dialogues over the example handbook, replayed: the follow-up finds its document.

With a language model that rewrites, with one whose rewriting fails, and without one. The model is
scripted; documents, embedding model and database are real. Facts are from examples/handbook.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pytest

from ragkit import Answer, Settings
from ragkit.conversation import Conversation
from ragkit.testing.stub_server.server import Fault, quote_first_source
from ragkit_ingest import ingest
from ragkit_serve import StubServer
from tests.places import ROOT

pytestmark = pytest.mark.long
HANDBOOK = ROOT / "examples" / "handbook"


class Dialogue(NamedTuple):
    """Two questions, the second one's standalone form, and the document and fact it asks for."""

    first: str
    follow_up: str
    rewritten: str
    document: str
    fact: str


DIALOGUES = (
    Dialogue(
        "How many days of annual leave do full-time employees in Galway have?",
        "How many of them may be carried into the next year?",
        "How many unused days of annual leave may be carried into the next year?",
        "en/leave.md",
        "five unused days",
    ),
    Dialogue(
        "What is the hotel limit in London?",
        "And in Dublin?",
        "What is the hotel limit in Dublin?",
        "en/travel-and-expenses.md",
        "€165",
    ),
    Dialogue(
        "How many weeks of leave do parents who give birth receive?",
        "And the other parent?",
        "How many weeks of leave does the other parent receive?",
        "en/leave.md",
        "six weeks at full pay",
    ),
    Dialogue(
        "How far from a wall must the RL-400 hang?",
        "How heavy is it?",
        "How heavy is the RL-400, what is its weight without bracket?",
        "rl-400-manual.pdf",
        "2.9 kg",
    ),
    Dialogue(
        "What does fault code E11 mean?",
        "What about E17?",
        "What does fault code E17 mean?",
        "rl-400-manual.pdf",
        "Echo too weak",
    ),
    Dialogue(
        "How long is the probation period?",
        "What is the notice period during it?",
        "What is the notice period during probation?",
        "en/welcome.md",
        "two weeks' notice",
    ),
    Dialogue(
        "How much is the learning budget?",
        "Does it roll over?",
        "Does the learning budget roll over?",
        "en/welcome.md",
        "does not roll over",
    ),
    Dialogue(
        "标定实验室的温度要求是多少？",
        "那湿度呢？",
        "标定实验室的相对湿度要求是多少？",
        "zh/calibration-lab.md",
        "45%至55%",
    ),
    Dialogue(
        "食堂的早餐供应时间是几点？",
        "晚餐呢？",
        "食堂的晚餐供应时间是几点？",
        "zh/campus.md",
        "17:20至18:40",
    ),
    Dialogue(
        "一线城市2026年每晚的住宿限额是多少？",
        "那其他地区呢？",
        "其他地区2026年每晚的住宿限额是多少？",
        "zh/travel-expenses.md",
        "330元",
    ),
    Dialogue(
        "苏州的单人间宿舍每月多少钱？",
        "最长可以住多久？",
        "员工宿舍最长可以居住多久？",
        "zh/campus.md",
        "最长居住三年",
    ),
    Dialogue(
        "外部送检的普通周期是几个工作日？",
        "它的费用是多少？",
        "外部送检的费用是每台多少元？",
        "zh/calibration-lab.md",
        "860元",
    ),
)
REWRITTEN = {dialogue.follow_up: dialogue.rewritten for dialogue in DIALOGUES}
# Without a model this one is refused, which is honest: the manual does not say "heavy".
REFUSED_WITHOUT_MODEL = ("How heavy is it?",)


@pytest.fixture(scope="module", autouse=True)
def _handbook(settings: Settings) -> None:
    report = ingest([HANDBOOK], settings=settings)
    assert (report.added, len(report.failures)) == (14, 0)


def script(messages: Sequence[Mapping[str, Any]], rewritten: Mapping[str, str | Fault]) -> Any:
    """Rewrite as told, else quote the first source."""
    last = str(messages[-1]["content"])
    for label in ("Next question: ", "接下来的问题： "):
        if label in last:
            return rewritten[last.rpartition(label)[2]]
    return quote_first_source(messages)


def follow_ups(conversation: Conversation) -> list[tuple[Dialogue, Conversation, Answer]]:
    """Hold every dialogue in a conversation of its own."""
    held = []
    for dialogue in DIALOGUES:
        talk = conversation.another()
        talk.ask(dialogue.first)
        held.append((dialogue, talk, talk.ask(dialogue.follow_up)))
    return held


def holds(text: str, fact: str) -> bool:
    return fact in " ".join(text.split())


def test_rewritten_follow_ups_find_their_documents(settings: Settings) -> None:
    with StubServer(lambda messages: script(messages, REWRITTEN)) as server:
        with_model = settings.model_copy(update={"llm_url": server.url, "llm_model": "stub"})
        with Conversation.open(with_model) as conversation:
            for dialogue, talk, answer in follow_ups(conversation):
                assert talk.turns()[1].query == dialogue.rewritten
                assert answer.hits[0].uri.endswith(dialogue.document)
                assert any(holds(hit.text, dialogue.fact) for hit in answer.hits[:5])


@pytest.mark.parametrize("fault", [Fault(status=400), Fault(cut="quiet", text="When")])
def test_where_rewriting_fails_the_cited_passages_still_hold_the_fact(
    settings: Settings, fault: Fault
) -> None:
    failing = dict.fromkeys(REWRITTEN, fault)
    with StubServer(lambda messages: script(messages, failing)) as server:
        with_model = settings.model_copy(update={"llm_url": server.url, "llm_model": "stub"})
        with Conversation.open(with_model) as conversation:
            for dialogue, talk, answer in follow_ups(conversation):
                turn = talk.turns()[1]
                assert turn.query == turn.question == dialogue.follow_up
                assert "could not be rewritten" in turn.trace["query"]
                assert any(hit.uri.endswith(dialogue.document) for hit in answer.hits)


def test_without_a_model_follow_ups_are_answered_or_refused(settings: Settings) -> None:
    with Conversation.open(settings) as conversation:
        for dialogue, _, answer in follow_ups(conversation):
            if dialogue.follow_up in REFUSED_WITHOUT_MODEL:
                assert answer.refused
            else:
                assert holds(answer.text, dialogue.fact), answer.text
                assert any(c.uri.endswith(dialogue.document) for c in answer.citations)


def test_without_a_model_a_question_that_stands_alone_is_answered_as_if_it_were_the_first(
    settings: Settings,
) -> None:
    questions = [dialogue.rewritten for dialogue in DIALOGUES]
    with Conversation.open(settings) as conversation:
        for before, question in zip(questions[5:] + questions[:5], questions, strict=True):
            alone = conversation.kb.ask(question)
            talk = conversation.another()
            talk.ask(before)
            answer = talk.ask(question)
            assert talk.turns()[1].query == question
            assert (answer.text, answer.refused) == (alone.text, alone.refused)


def test_a_dialogue_changes_its_language_and_takes_no_words_along_that_would_mislead(
    settings: Settings,
) -> None:
    with Conversation.open(settings) as conversation:
        conversation.ask("How many days of annual leave do full-time employees in Galway have?")
        assert "湿度" in conversation.ask("那湿度呢？").text
        answer = conversation.ask("And in Dublin?")
        turn = conversation.turns()[2]
        assert "湿度" not in turn.query
        assert "Dublin" in answer.text
