"""AGIEval: 21 tasks, labels that are lists, cloze, options that bring their letters."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ragkit_eval.run.item import Item, Response
from ragkit_eval.tasks.registry import open_task
from ragkit_eval.tasks.scorers.choice import LabelSetScorer
from ragkit_eval.tasks.task import DeclaredTask

ENGLISH = {
    *("lsat-ar", "lsat-lr", "lsat-rc", "logiqa-en", "sat-math", "sat-en", "aqua-rat"),
    *("sat-en-without-passage", "gaokao-english", "math"),
}
# Counted with: wc -l, and one more for each file whose last line has no end.
ITEMS = {
    "aqua-rat": 254,
    "gaokao-biology": 210,
    "gaokao-chemistry": 207,
    "gaokao-chinese": 246,
    "gaokao-english": 306,
    "gaokao-geography": 199,
    "gaokao-history": 235,
    "gaokao-mathcloze": 118,
    "gaokao-mathqa": 351,
    "gaokao-physics": 200,
    "jec-qa-ca": 1000,
    "jec-qa-kd": 1000,
    "logiqa-en": 651,
    "logiqa-zh": 651,
    "lsat-ar": 230,
    "lsat-lr": 510,
    "lsat-rc": 269,
    "math": 1000,
    "sat-en": 206,
    "sat-en-without-passage": 206,
    "sat-math": 220,
}


Rows = list[tuple[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def task(data: Path) -> DeclaredTask:
    return open_task("agieval", data=data / "tasks")


@pytest.fixture(scope="module")
def items(task: DeclaredTask) -> list[Item]:
    return list(task.items())


@pytest.fixture(scope="module")
def rows(data: Path) -> Rows:
    files = sorted((data / "tasks" / "agieval").glob("*.jsonl"))
    return [
        (file.stem, json.loads(line))
        for file in files
        for line in file.read_text("utf-8").split("\n")
        if line
    ]


def _prompt(group: str, row: dict[str, Any]) -> str:
    """Make the zero-shot prompt a second time, by concatenation, as the paper's program does."""
    passage, options = row["passage"] or "", row["options"]
    if group in ENGLISH:
        text = f"{passage}Q: {row['question']}"
        if not options:
            return f"{text}\nA: The answer is"
        last = "ABCDE"[len(options) - 1]
        choices = " ".join(options)
        return f"{text} Answer Choices: {choices}\nA: Among A through {last}, the answer is"
    text = f"{passage}问题：{row['question']}"
    if not options:
        return f"{text}\n答案："
    return f"{text} 选项：{' '.join(options)}\n答案：从A到{'ABCDE'[len(options) - 1]}, 我们应选择"


def test_every_item(items: list[Item], rows: Rows) -> None:
    assert Counter(item.group for item in items) == ITEMS
    assert [item.prompt for item in items] == [_prompt(group, row) for group, row in rows]
    assert len({item.id for item in items}) == len(items) == 8269
    labels = Counter((len(item.labels), min(len(item.targets), 2)) for item in items)
    # Options and right labels, 2 for more: cloze has an answer and no options, and for one question
    # the data names no right label.
    assert labels == {(0, 1): 1118, (4, 1): 4858, (4, 2): 1029, (4, 0): 1, (5, 1): 1263}


def test_kinds_of_labels(items: list[Item], rows: Rows) -> None:
    targets = [
        (item.group, item.targets, row["label"]) for item, (_, row) in zip(items, rows, strict=True)
    ]
    lists = [label for group, _, label in targets if isinstance(label, list)]
    assert len(lists) == 2035  # all of jec-qa, and 35 of gaokao-physics
    assert [entry[1:] for entry in targets if "。" in (entry[2] or "")] == [
        (("A", "C", "D"), ["A", "C", "D", "。"])
    ]
    assert (("A", "B", "D"), "A B D") in [entry[1:] for entry in targets]
    assert (("C", "D"), "CD") in [entry[1:] for entry in targets]
    assert (("A",), ["A"]) in [entry[1:] for entry in targets]


def test_questions_about_one_passage_are_one_cluster(items: list[Item], rows: Rows) -> None:
    passages = {row["passage"] for group, row in rows if group == "lsat-rc"}
    clusters = {item.cluster for item in items if item.group == "lsat-rc"}
    assert len(clusters) == len(passages) < 60
    assert {item.cluster for item in items if item.group == "sat-en-without-passage"} == {""}


def test_the_letter_form_has_the_questions_with_one_right_option(published: Path) -> None:
    items = list(open_task("agieval:letter", data=published).items())
    # All but 1,118 cloze, 2,035 with lists of labels, and 7 with several letters in one text.
    assert len(items) == 8269 - 1118 - 2035 - 7
    assert {len(item.targets) for item in items} == {1}


def _scored(
    text: str, *targets: str, labels: str = "ABCD", several: bool = False
) -> tuple[Any, ...]:
    item = Item("x", "", targets, tuple(labels), extra={"several": several})
    scored = LabelSetScorer().score(item, Response(text=text))
    return scored.prediction, scored.scores["acc"], scored.fallback


@pytest.mark.parametrize(
    ("text", "targets", "expected"),
    [
        ("ACD", "ACD", ("ACD", 1.0, False)),
        (" A、C和D。", "ACD", ("ACD", 1.0, False)),
        ("(D)(C)(A)", "ACD", ("ACD", 1.0, False)),
        ("AC", "ACD", ("AC", 0.0, False)),
        ("ABCD", "ACD", ("ABCD", 0.0, False)),
        ("经过分析，答案是BD。", "BD", ("BD", 1.0, False)),
        ("考虑到各项，选项如下：BD", "BD", ("BD", 1.0, True)),
        ("", "A", ("", 0.0, True)),
        ("", "", ("", 0.0, True)),
        ("A", "", ("A", 0.0, False)),
    ],
)
def test_all_right_options_and_no_other(
    text: str, targets: str, expected: tuple[str, float, bool]
) -> None:
    assert _scored(text, *targets, several=True) == expected


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        (" $\\frac12$.", "\\frac{1}{2}", 1.0),
        (" 1/2", "\\dfrac{1}{2}", 1.0),
        ("\\boxed{(3,4]}", "(3,4]", 1.0),
        (" $x = 5$", "5", 1.0),
        (" 371043400.", "371,\\!043,\\!400", 1.0),
        (" $2 \\sqrt 3$", "$2\\sqrt{3}$", 1.0),
        (" 6", "5", 0.0),
        ("", "5", 0.0),
        (" I do not know", "5", 0.0),
        ("2x+y+1=0", "$2x+y+1=0$", 1.0),
        ("5;10", "$5$;$10$", 1.0),
        ("$5$; $10$", "$5$;$10$", 1.0),
        ("5;11", "$5$;$10$", 0.0),
        ("10", "$5$;$10$", 0.0),
        ("17", "17\\text{ meters}", 1.0),
        ("17\\text{ meters}", "17\\text{ meters}", 1.0),
        ("The number is 17, I think", "17", 1.0),
        ("$x-y=0$", "$2x+y+1=0$", 0.0),
    ],
)
def test_cloze(text: str, target: str, expected: float) -> None:
    assert _scored(text, target, labels="")[1] == expected


def test_each_right_answer_written_out_is_right(task: DeclaredTask, items: list[Item]) -> None:
    wrong = []
    for item in items:
        text = "".join(item.targets)
        if not item.labels and "$" not in text:
            text = f" ${text}$."
        if text and task.score(item, Response(text=text)).scores["acc"] != 1.0:
            wrong.append((item.group, text))
    assert wrong == []
