"""HumanEval through its task: reference solutions pass, and wrong ones fail."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ragkit.errors import UsageError
from ragkit_eval.run.item import Item, Response
from ragkit_eval.tasks.registry import open_task
from ragkit_eval.tasks.scorers.program import program_of
from ragkit_eval.tasks.task import DeclaredTask


@pytest.fixture(scope="module")
def task(data: Path) -> DeclaredTask:
    try:
        return open_task("humaneval", data=data / "tasks", execute_code=True)
    except UsageError as error:
        pytest.skip(str(error))


def _passed(task: DeclaredTask, items: list[Item], texts: list[str]) -> list[str]:
    """Return the ids of the items that pass."""

    def scored(item: Item, text: str) -> float:
        return task.score(item, Response(text=text)).scores["pass@1"]

    with ThreadPoolExecutor(2) as threads:
        scores = list(threads.map(scored, items, texts))
    return [item.id for item, score in zip(items, scores, strict=True) if score == 1.0]


def test_reference_solutions_pass_and_as_many_wrong_ones_fail(task: DeclaredTask) -> None:
    """A sample; the self-test's own test runs them all."""
    items = list(task.items())
    assert len(items) == 164
    sample = items[::16]
    right = [item.targets[0] for item in sample]
    assert _passed(task, sample, right) == [item.id for item in sample]
    # What no test expects: equal to nothing but itself.
    wrong = ["    return object()\n"] * len(sample)
    assert _passed(task, sample, wrong) == []


def test_some_right_and_wrong(task: DeclaredTask) -> None:
    items = list(task.items())[:4]
    assert _passed(task, items, [item.targets[0] for item in items]) == [
        *("HumanEval/0", "HumanEval/1", "HumanEval/2", "HumanEval/3")
    ]
    assert _passed(task, items, ["    return None\n"] * 4) == []
    assert _passed(task, items, ["    import os; os._exit(0)\n"] * 4) == []


def test_items(task: DeclaredTask) -> None:
    item = next(task.items())
    assert item.id == "HumanEval/0"
    assert item.prompt.startswith("from typing import List\n\n\ndef has_close_elements(")
    assert item.prompt.endswith('True\n    """\n')
    assert item.extra["entry_point"] == "has_close_elements"
    assert task.sampling["stop"] == ["\nclass", "\ndef", "\n#", "\nif", "\nprint"]
    assert task.metrics == {"pass@1": "pass@1|cpu_s:10|memory_mb:512|v:1"}


ITEM = Item("1", "def helper():\n    pass\n\ndef f():\n    '''Do.'''\n", extra={"entry_point": "f"})


@pytest.mark.parametrize(
    ("text", "program", "fallback"),
    [
        ("    return 1", f"{ITEM.prompt}    return 1\n", False),
        ("```python\n    return 1\n```", f"{ITEM.prompt}    return 1\n", True),
        (
            "Here:\n```python\nimport os\ndef f():\n    return 1\n```\nIt works.",
            f"{ITEM.prompt}\nimport os\ndef f():\n    return 1\n",
            True,
        ),
        ("```\n    return 1", f"{ITEM.prompt}    return 1\n", True),
    ],
)
def test_the_program_of_a_completion(text: str, program: str, fallback: bool) -> None:
    assert program_of(ITEM, text) == (program, fallback)
