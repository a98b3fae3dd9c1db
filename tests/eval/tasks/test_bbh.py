"""BIG-Bench Hard: prompts byte for byte, and the 27 published accuracies exactly.

The oracle is a recorded run of code-davinci-002 with the accuracies that its makers published.
"""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from ragkit_eval.run.item import Response
from ragkit_eval.tasks.registry import open_task


@pytest.fixture
def recorded(data: Path) -> dict[tuple[str, int], dict[str, Any]]:
    text = (data / "oracles" / "bbh_direct" / "code_davinci_002_direct.jsonl").read_text("utf-8")
    rows = map(json.loads, text.rstrip("\n").split("\n"))
    return {(row["task"], row["i"]): row for row in rows}


def test_the_27_published_accuracies(
    data: Path, recorded: dict[tuple[str, int], dict[str, Any]]
) -> None:
    published = json.loads(
        (data / "oracles" / "bbh_direct" / "published_accuracy_direct.json").read_text()
    )
    task = open_task("bbh", data=data / "tasks")
    scores: dict[str, list[float]] = defaultdict(list)
    for item in task.items():
        row = recorded[item.group, len(scores[item.group])]
        assert item.targets == (row["target"],)
        scored = task.score(item, Response(text=row["prediction"]))
        scores[item.group].append(scored.scores["exact_match"])
    accuracies = {group: sum(values) / len(values) * 100 for group, values in scores.items()}
    expected = {group: values["accuracy"] for group, values in published.items()}
    assert len(expected) == 27
    assert accuracies == pytest.approx(expected, abs=1e-12)
    assert sum(map(len, scores.values())) == 6511


def test_direct_prompts_are_the_recorded_ones(
    published: Path, recorded: dict[tuple[str, int], dict[str, Any]]
) -> None:
    expected = {group: row["full_prompt"] for (group, i), row in recorded.items() if i == 0}
    prompts: dict[str, str] = {}
    for item in open_task("bbh", data=published).items():
        prompts.setdefault(item.group, item.prompt)
    assert len(prompts) == 27
    assert prompts == expected


def test_chain_of_thought_prompts_are_the_files(published: Path) -> None:
    item = next(open_task("bbh:cot", data=published, groups=["web_of_lies"]).items())
    file = (published / "bbh" / "cot-prompts" / "web_of_lies.txt").read_text()
    assert item.prompt.startswith(file.partition("-----\n")[2] + "\n\nQ: Question: ")
    assert item.prompt.count("\n\nQ: ") == 4
    assert item.prompt.endswith("\nA: Let's think step by step.")


@pytest.mark.parametrize(
    ("text", "prediction", "fallback"),
    [
        (" ... So the answer is Yes.", "Yes", False),
        ("the answer is No? Wait.\nSo the answer is (B).", "(B)", False),
        ("So the answer is ) ] }", ") ] }", False),
        ("Thus\n(A)\n", "(A)", True),
        ("", "", True),
    ],
)
def test_the_answer_of_a_chain_of_thought(
    published: Path, text: str, prediction: str, fallback: bool
) -> None:
    task = open_task("bbh:cot", data=published, groups=["web_of_lies"])
    scored = task.score(next(task.items()), Response(text=text))
    assert (scored.prediction, scored.fallback) == (prediction, fallback)
