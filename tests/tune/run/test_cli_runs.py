"""`ragkit tune runs` as it is typed."""

import json
import re
from pathlib import Path

import pytest

from ragkit_tune.run.start import start
from tests.commands import Result
from tests.commands import run as run_command
from tests.tune.run.worlds import GOOD, World, make_world


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    world = make_world(tmp_path, monkeypatch)
    world.write_worker(GOOD)
    start(world.recipe(batch=8), home=world.home, name="first")
    return world


def runs(world: World, *words: str) -> Result:
    return run_command("tune", "runs", *words, environment={"RAGKIT_HOME": str(world.home)})


def test_runs_are_listed_and_shown(world: World) -> None:
    result = runs(world, "list")
    assert (result.returncode, result.stderr) == (0, "")
    assert re.fullmatch(r"first  finished  embedder from base, 20\S+\n", result.stdout)
    (listed,) = json.loads(runs(world, "list", "--json").stdout)
    assert listed["name"] == "first"
    assert listed["folder"] == str(world.home / "tune/first")
    lines = runs(world, "show", "first").stdout.splitlines()
    assert lines[2:4] == [
        "step 1 of 2: loss 2.5000, gradient norm 0.75, 64 tokens/s",
        "dev at step 2: ndcg@10 0.5000",
    ]
    assert lines[4].startswith("recipe: kind = embedder, base = ")
    shown = json.loads(runs(world, "show", "first", "--json").stdout)
    assert shown["progress"]["left_s"] == 3.0
    assert shown["dev"] == [{"step": 2, "dev": {"ndcg@10": 0.5}}]


def test_the_log_is_printed_from_its_end(world: World) -> None:
    assert runs(world, "log", "first", "--last", "2").stdout.splitlines() == [
        "step 2: dev ndcg@10 0.5000",
        "step 2: checkpoint",
    ]
    (entry,) = json.loads(runs(world, "log", "first", "--last", "1", "--json").stdout)
    assert entry == {"step": 2, "event": "checkpoint"}


def test_a_run_is_deleted_only_with_a_yes(world: World) -> None:
    result = runs(world, "delete", "first")
    assert result.returncode == 2
    assert "add --yes" in result.stderr
    assert runs(world, "delete", "first", "--yes").stdout == "Removed run first.\n"
    result = runs(world, "list")
    assert result.stderr == "There are no runs yet: ragkit tune embedder -c COLLECTION\n"


def test_mistakes_are_one_line(world: World) -> None:
    for words, line in (
        (("show", "frist"), "there is no run frist: do you mean first?"),
        (("resume", "first"), "run first is finished: start another with its recipe"),
        (("stop", "first"), "run first does not go on: it is finished"),
    ):
        result = runs(world, *words)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr.strip().endswith(line)
