"""GSM8K: every verdict that its makers recorded for two models' solutions."""

import json
from pathlib import Path

import pytest

from ragkit_eval.run.item import Item, Response
from ragkit_eval.tasks.extract import final_number
from ragkit_eval.tasks.registry import open_task
from ragkit_eval.tasks.scorers.text import NumberScorer

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
        assert scored.scores["acc"] == row[model]["is_correct"], row[model]["solution"]
        assert scored.scores["acc_lenient"] >= scored.scores["acc"]
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
    for text, right in ((f"#### {target}.00", 1.0), (f"#### {target}1", 0.0), ("no number", 0.0)):
        scores = task.score(item, Response(text=text)).scores
        assert scores == {"acc": right, "acc_lenient": right}


@pytest.mark.parametrize(
    ("text", "strict", "lenient"),
    [
        (r"The answer is $\boxed{18}$, and 20 were there before.", 0.0, 1.0),
        ("答案是１８元，原来有20元。", 0.0, 1.0),
        ("**Answer: 18** apples of the 20", 0.0, 1.0),
        (r"So it is \(\boxed{\text{18}}\). Check: 3 + 15 = 18; 2 left", 0.0, 1.0),
        ("#### 18", 1.0, 1.0),
        ("The answer is 20.", 0.0, 0.0),
        (r"\boxed{20} is the answer, not 18", 1.0, 1.0),  # the published rule's last number
    ],
)
def test_a_lenient_score_stands_beside_the_published_one(
    text: str, strict: float, lenient: float
) -> None:
    scores = NumberScorer().score(Item("1", "q", ("18",)), Response(text=text)).scores
    assert scores == {"acc": strict, "acc_lenient": lenient}


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
