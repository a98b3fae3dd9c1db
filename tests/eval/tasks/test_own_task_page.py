"""The examples of docs/howto/own-task.md work as they stand."""

import json
import re
from pathlib import Path

import pytest

from ragkit_eval.run.item import Response
from ragkit_eval.tasks.registry import open_task
from ragkit_eval.tasks.spec import DataSpec, FieldsSpec, PromptSpec, SamplingSpec, Spec
from tests.commands import run
from tests.eval.endpoint.scripted import ScriptedServer, letters
from tests.places import ROOT

PAGE = (ROOT / "docs" / "howto" / "own-task.md").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files that the page shows."""
    exam, free = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (table,) = re.findall(r"```csv\n(.*?)```", PAGE, re.DOTALL)
    (lines,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    for name, text in (
        ("exam.toml", exam),
        ("exam.csv", table),
        ("free.toml", free),
        ("handbook.jsonl", lines),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_the_exams_prompt(folder: Path) -> None:
    first, second, third = open_task(str(folder / "exam.toml"), data=None).items()
    assert second.prompt == (
        "Answer with the letter alone.\n\n机房湿度应保持在多少？\n"
        "A. 20%至30%\nB. 30%至40%\nC. 40%至60%\nD. 没有规定\nAnswer:"
    )
    assert [item.id for item in (first, second, third)] == ["cooling/1", "cooling/2", "leave/3"]
    assert [item.targets for item in (first, second, third)] == [("B",), ("C",), ("C",)]


def test_free_answers(folder: Path) -> None:
    task = open_task(str(folder / "free.toml"), data=None)
    english, chinese = task.items()
    assert task.score(english, Response(text="There are 26 days.")).scores["contains"] == 1.0
    scores = task.score(chinese, Response(text="应保持在22℃至24℃之间。")).scores
    assert scores["reference_recall"] == 1.0
    assert set(scores) == {"reference_recall", "contains", "token_f1"}


def test_the_commands(folder: Path) -> None:
    commands = re.findall(r"^ragkit (eval .*)$", PAGE, re.MULTILINE)
    commands = [command for command in commands if "exam.toml" in command]
    assert len(commands) == 2
    with ScriptedServer(lambda _: letters(_C=-0.1, A=-3.0)) as server:
        for command in commands:
            words = command.replace("http://127.0.0.1:8000/v1", server.url).split()
            result = run(*words, folder=folder)
            assert result.returncode == 0, result.stderr
    records = [json.loads(line) for line in (folder / "exam.jsonl").read_text("utf-8").splitlines()]
    assert [record.get("status") for record in records] == [None, "wrong", "ok", "ok"]


def test_every_key_is_explained() -> None:
    table = PAGE.partition("## What the file may say")[2].partition("\n\nA field is")[0]
    explained = set(re.findall(r"`([\w.]+)`", table))
    kinds = ((DataSpec, "data."), (FieldsSpec, "fields."), (PromptSpec, "prompt."))
    expected = {prefix + name for kind, prefix in kinds for name in kind.__dataclass_fields__}
    expected |= set(Spec.__dataclass_fields__) | set(SamplingSpec.__dataclass_fields__)
    # What a prompt's file of reasoning needs is BIG-Bench Hard's own affair.
    internal = {"name", "base", "edits", "data", "fields", "prompt", "data.prefix"}
    assert expected - explained - internal - {"data.prefix_rule", "data.folder"} == set()
