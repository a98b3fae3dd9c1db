"""`ragkit tune merge` as it is typed: what it prints, its JSON, its mistakes."""

import json
from pathlib import Path

from ragkit_tune.run.folder import create_run
from tests.commands import run
from tests.tune.merge.tiny_models import write_checkpoint


def test_two_models_are_merged_and_called_unproven(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "a", 0.3)
    write_checkpoint(tmp_path / "b", 1.1)
    words = ("tune", "merge", "./a", "./b", "--method", "linear", "--weights", ".75,.25")
    result = run(*words, "--out", "out", folder=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "out: 2 models merged, 0.0 MB of weights.",
        "a names no licence: look it up before you pass the model on.",
        "b names no licence: look it up before you pass the model on.",
        "unproven: ragkit tune prove out --set questions.jsonl",
        "questions.jsonl is your own labelled set, or rows/test.jsonl of `ragkit tune data`.",
    ]
    result = run(*words, "--out", "again", "--json", folder=tmp_path)
    printed = json.loads(result.stdout)
    assert printed.pop("output") == "again"
    assert printed == json.loads((tmp_path / "again" / "card.json").read_text("utf-8"))
    assert [parent["weight"] for parent in printed["parents"]] == [0.75, 0.25]


def test_mistakes_are_one_line_with_the_exit_code_of_misuse(tmp_path: Path) -> None:
    for words, reason in (
        (("--method", "ties"), "--method ties is unknown: choose one of linear, slerp, task"),
        (("--weights", "a,b"), "--weights 'a,b' is not numbers between commas, as .5,.5"),
        (("--method", "slerp", "--t", "2"), "--t 2 is not between 0 (the first model) and 1"),
    ):
        result = run("tune", "merge", "./a", "./b", "--out", "out", *words, folder=tmp_path)
        assert (result.returncode, result.stdout) == (2, "")
        (line,) = result.stderr.splitlines()
        assert reason in line


def test_a_run_is_merged_by_its_name(tmp_path: Path) -> None:
    home = tmp_path / "home"
    values = {"kind": "embedder", "state": "finished", "recipe": {}, "base": {}}
    run_folder = create_run(home, "first", values)
    unfinished = create_run(home, "second", {**values, "state": "failed", "failure": "no"})
    write_checkpoint(run_folder.model, 0.3)
    write_checkpoint(tmp_path / "b", 1.1)
    environment = {"RAGKIT_HOME": str(home)}
    words = ("--method", "linear", "--out", "out", "--json")
    result = run("tune", "merge", "first", "./b", *words, folder=tmp_path, environment=environment)
    assert result.returncode == 0, result.stderr
    result = run("tune", "merge", "second", "./b", "--out", "o", folder=tmp_path,
                 environment=environment)  # fmt: skip
    assert result.returncode == 2
    assert f"run second is not finished but {unfinished.read().state}" in result.stderr
