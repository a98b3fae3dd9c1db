"""`ragkit eval tasks`, as a user types it."""

import json
from pathlib import Path

import pytest

from tests.commands import Result, run

OWN = (
    'method = "generate"\nscorer = "first-line"\nmetric = "exact_match"\ntitle = "Mine"\n'
    '[data]\nfiles = ["rows.jsonl"]\n[fields]\nquestion = "q"\ntarget = "a"\n'
)


def _tasks(*arguments: str, code: int = 0, **environment: str) -> Result:
    result = run("eval", "tasks", *arguments, environment=environment)
    assert result.returncode == code, (result.stdout, result.stderr)
    return result


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own.toml").write_text(OWN)
    (tmp_path / "rows.jsonl").write_text('{"q": "1+1?", "a": "2"}\n')
    return tmp_path


def test_what_is_there_and_what_is_missing(folder: Path) -> None:
    done = _tasks("mmlu", "humaneval", f"{folder}/own.toml", RAGKIT_EVAL_DATA=str(folder))
    header, mmlu, humaneval, own = (line.split() for line in done.stdout.splitlines())
    assert header == ["task", "items", "method", "metric", "data"]
    assert mmlu[:3] == ["mmlu", "letter", "acc"]
    assert " ".join(mmlu[3:]) == f"there is no test/*_test.csv in {folder}/mmlu: put the data there"
    assert " ".join(humaneval[-4:]) == "there (runs code: --execute-code)"
    assert own == ["own", "1", "generate", "exact_match", str(folder)]


def test_json_has_the_hash_of_data_that_is_there(folder: Path) -> None:
    (row,) = json.loads(_tasks(f"{folder}/own.toml", "--json").stdout)
    assert (row["state"], row["items"], row["title"]) == ("ready", 1, "Mine")
    assert len(row["data_hash"]) == 16
    (row,) = json.loads(_tasks("mmlu", "--json").stdout)
    assert (row["state"], row["items"], row["folder"]) == ("unknown", None, "DIR/mmlu")


def test_data_that_is_not_right_is_shown_and_ends_with_3(folder: Path) -> None:
    (folder / "rows.jsonl").write_text('{"q": "1+1?"}\n')
    done = _tasks(f"{folder}/own.toml", code=3)
    assert f"{folder}/rows.jsonl:1: 'a' is undefined: the row has q" in done.stdout


def test_an_unknown_name_is_a_usage_error() -> None:
    done = _tasks("mmul", code=2)
    assert done.stdout == ""
    assert done.stderr.startswith("ragkit: no task 'mmul': did you mean mmlu")
    assert len(done.stderr.splitlines()) == 1


def test_every_task_is_listed() -> None:
    rows = json.loads(_tasks("--json").stdout)
    assert len(rows) >= 20
    assert {"mmlu", "bbh:cot", "humaneval"} <= {row["name"] for row in rows}
    assert [row["name"] for row in rows if row["executes_code"]] == ["humaneval"]


def test_what_else_a_task_needs_stands_beside_its_data() -> None:
    rows = {row["name"]: row["needs"] for row in json.loads(_tasks("--json").stdout)}
    assert rows["mt-bench"] == ["a judge: --judge", "a chat model"]
    assert rows["truthfulqa:mc2"] == ["a server that echoes log-probabilities"]
    assert rows["xstest"] == ["a chat model"]
    assert rows["mmlu"] == []
    (_, line) = _tasks("mt-bench").stdout.splitlines()
    assert line.endswith("(a judge: --judge; a chat model)")
