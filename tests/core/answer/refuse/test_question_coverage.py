"""The words that a refusal names are words of the question, without its verbs of naming."""

from __future__ import annotations

import pytest

from ragkit.answer.refuse.question_coverage import missing_words
from ragkit.question.reading import read_question


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("总裁叫什么？", ["总裁"]),
        ("總裁叫什麼名字？", ["總裁", "名字"]),
        ("老板姓什么？", ["老板"]),
        ("总裁是谁？", ["总裁"]),
        ("健身房在哪里？", ["健身房"]),
        ("食堂有多少员工？", ["食堂", "员工"]),
        ("叫号机在哪里？", ["叫号机"]),
        ("尖叫是什么？", ["尖叫"]),
        ("普通百姓是谁？", ["普通百姓"]),
    ],
)
def test_a_refusal_names_words_without_their_verb_of_naming(text: str, named: list[str]) -> None:
    question = read_question(text)
    assert missing_words(question, [], dict.fromkeys(question.content, 1.0)) == named
