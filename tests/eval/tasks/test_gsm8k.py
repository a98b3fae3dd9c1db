"""GSM8K: every verdict that its makers recorded for two models' solutions."""

import json
from pathlib import Path

import pytest

from ragkit_eval.run.item import Response
from ragkit_eval.tasks.extract import final_number
from ragkit_eval.tasks.registry import open_task

# Counted with: grep -c '"6b_finetuning": {"is_correct": true' example_model_solutions.jsonl
RIGHT = {"6b_finetuning": 286, "6b_verification": 515}


@pytest.mark.parametrize("model", RIGHT)
def test_recorded_verdicts(data: Path, model: str) -> None:
    task = open_task("gsm8k", data=data / "tasks")
    text = (data / "oracles" / "gsm8k" / "example_model_solutions.jsonl").read_text("utf-8")
    lines = text.rstrip("\n").split("\n")
    right = 0
    for item, line in zip(task.items(), lines, strict=True):
        row = json.loads(line)
        assert item.question == row["question"].strip()
        scored = task.score(item, Response(text=row[model]["solution"]))
        assert scored.scores == {"acc": float(row[model]["is_correct"])}, row[model]["solution"]
        right += row[model]["is_correct"]
    assert right == RIGHT[model]


@pytest.mark.parametrize(
    ("text", "number", "fallback"),
    [
        ("so 5.\n#### 1,234", "1234", False),
        ("She has 3. The answer is $18.", "18", False),
        ("The answer is -4", "-4", False),
        ("2 + 2 = 4 apples.", "4", True),
        ("3.50 dollars", "3.50", True),
        ("none", "", True),
        ("", "", True),
    ],
)
def test_final_number(text: str, number: str, fallback: bool) -> None:
    assert final_number(text) == (number, fallback)


def test_numbers_are_compared_as_numbers(published: Path) -> None:
    task = open_task("gsm8k", data=published, limit=1)
    (item,) = task.items()
    (target,) = item.targets
    assert task.score(item, Response(text=f"#### {target}.00")).scores == {"acc": 1.0}
    assert task.score(item, Response(text=f"#### {target}1")).scores == {"acc": 0.0}
    assert task.score(item, Response(text="no number")).scores == {"acc": 0.0}


def test_zero_shot_prompt(published: Path) -> None:
    item = next(open_task("gsm8k", data=published).items())
    assert item.prompt.startswith("Q: Janet’s ducks lay 16 eggs per day.")
    assert item.prompt.endswith("at the farmers' market?\nA: Let's think step by step.")
    assert item.targets == ("18",)


def test_shots_come_from_the_training_file(tmp_path: Path) -> None:
    folder = tmp_path / "gsm8k"
    folder.mkdir()
    line = '{"question": "%s?", "answer": "because\\n#### 2"}\n'
    (folder / "test.jsonl").write_text(line % "test")
    (folder / "train.jsonl").write_text("".join(line % n for n in "abcdef"))
    (item,) = open_task("gsm8k:5-shot", data=tmp_path).items()
    shots = "".join(f"Question: {n}?\nAnswer: because\n#### 2\n\n" for n in "abcde")
    assert item.prompt == shots + "Question: test?\nAnswer:"
