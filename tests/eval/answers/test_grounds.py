"""The groundedness screen: which sentences it points at."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit.types import Span
from ragkit_eval.answers import Groundedness, groundedness

PUMP = "The pump needs 230 volts when it runs. Its dry weight is 40 kg in all. Never open its lid."
LEAVE = "员工每年享有二十五天年假。申请须提前三个工作日提交。"


def answer(text: str, *passages: str) -> dict[str, Any]:
    hits = [
        {"document": i, "start": 7, "end": 7 + len(passage), "text": passage}
        for i, passage in enumerate(passages or (PUMP, LEAVE))
    ]
    return {"answer": text, "citations": [], "used": hits}


@pytest.mark.parametrize(
    "text",
    [
        "The pump needs 230 volts.",
        "The pump needs 230 volts [1]. 员工每年享有25天年假[2]。",
        "1. The pump needs 230 volts.\n2. Its weight is 40 kg.",
        "申请须提前三个工作日提交",
        'It says: "Never open its lid."',
    ],
)
def test_what_the_passages_hold_is_supported(text: str) -> None:
    assert groundedness(answer(text)) == Groundedness(1.0, ())


@pytest.mark.parametrize(
    "wrong",
    [
        "The pump needs 110 volts.",
        "The pump needs 40 volts.",
        "The Bosch pump needs 230 volts.",
        "Bananas are yellow and sweet.",
        'It says: "Always open its lid."',
        "员工每年享有三十五天年假。",
        "月亮绕着地球缓慢运行。",
    ],
)
def test_what_they_do_not_hold_is_pointed_at(wrong: str) -> None:
    text = f"Its dry weight is 40 kg. {wrong} 员工享有年假。"
    screened = groundedness(answer(text))
    assert screened.score == pytest.approx(2 / 3)
    (span,) = screened.unsupported
    assert text[span.start : span.end].strip() == wrong


def test_several_passages_support_together_whatever_is_cited() -> None:
    text = "The pump needs 230 volts and employees have 25 days [9]."
    assert groundedness(answer(text, PUMP, "All employees have 25 days.")).score == 1.0
    assert groundedness(answer(text, PUMP)).score == 0.0


def test_words_are_compared_and_not_meanings() -> None:
    assert groundedness(answer("The pump never needs 230 volts when it runs.")).score == 1.0
    assert groundedness(answer("水泵的电压是230伏。", PUMP)).score == 0.0


@pytest.mark.parametrize("text", ["", " \n", "[1]", "..."])
def test_an_answer_that_says_nothing_has_nothing_to_rely_on(text: str) -> None:
    assert groundedness(answer(text)) == Groundedness(0.0, ())


def test_a_refusal_and_an_answer_without_passages() -> None:
    refusal = {**answer("I could not find that."), "refused": True}
    assert groundedness(refusal) == Groundedness(0.0, ())
    alone = groundedness({"answer": "The pump needs 230 volts."})
    assert alone == Groundedness(0.0, (Span(0, 25),))


@given(st.text(alphabet="a1%.。员 \n[]\"”「」《“,-'", max_size=60))
def test_any_text_has_a_score_and_spans_within_it(text: str) -> None:
    screened = groundedness(answer(text))
    assert 0.0 <= screened.score <= 1.0
    assert all(0 <= span.start < span.end <= len(text) for span in screened.unsupported)
