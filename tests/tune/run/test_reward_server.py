"""Scores of answers by ragkit's check, asked by JSON lines."""

import io
import json
from typing import Any

import pytest

from ragkit.prompts.messages import REFUSAL
from ragkit_tune.run.reward_server import main, score

SOURCES = [
    {"document": "/d/a.md", "title": "Leave", "text": "Everybody has 25 days of leave in a year."},
    {"document": "/d/b.md", "title": "Pumps", "text": "水泵每小时输送300升水。"},
]
REFERENCE = "Everybody has 25 days of leave in a year [1]."


@pytest.mark.parametrize(
    ("answer", "reward"),
    [
        ("Everybody has 25 days of leave in a year [1].", 1.0),
        ("Everybody has 30 days of leave in a year [1].", 0.0),
        ("Everybody has 25 days of leave in a year [2].", 0.0),
        ("Everybody has 25 days of leave in a year.", 0.0),
        ("水泵每小时输送300升水[2]。", 0.5),  # true, but no answer to the question
        (REFUSAL["en"], 0.0),
        ("", 0.0),
    ],
)
def test_an_answer_is_worth_what_the_sources_support_of_it(answer: str, reward: float) -> None:
    assert score(answer, REFERENCE, SOURCES)["reward"] == pytest.approx(reward, abs=0.01)


def test_a_refusal_is_right_where_the_reference_refuses() -> None:
    assert score(REFUSAL["zh"], REFUSAL["en"], SOURCES)["reward"] == 1.0
    assert score(REFERENCE, REFUSAL["en"], SOURCES)["reward"] == 0.0


def test_requests_are_answered_line_by_line_and_mistakes_named() -> None:
    request: dict[str, Any] = {"reference": REFERENCE, "sources": SOURCES}
    lines = [{**request, "answers": [REFERENCE, "No."]}, request, {"answers": 3}]
    written = io.StringIO()
    main(io.StringIO("".join(json.dumps(line) + "\n" for line in lines) + "{\n"), written)
    first, *others = [json.loads(line) for line in written.getvalue().splitlines()]
    assert [scores["reward"] for scores in first["scores"]] == [1.0, 0.0]
    assert others[0] == {"error": "KeyError: 'answers'"}
    assert "error" in others[1]
    assert others[2]["error"].startswith("JSONDecodeError")
