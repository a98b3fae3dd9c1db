"""`ragkit tune runs` as it is typed."""

import json
import re
from pathlib import Path

import pytest

from ragkit.errors import ModelError
from ragkit_tune.cli_runs import progress_line
from ragkit_tune.run.log import Progress
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


def test_the_recipe_shows_what_concerns_its_kind(world: World) -> None:
    line = runs(world, "show", "first").stdout.splitlines()[4]
    for name in ("loss = mnrl", "parameters = full", "batch = 8", "max_tokens = 512", "scale = 20"):
        assert name in line
    for name in ("method", "bits", "rank", "alpha"):
        assert f" {name} = " not in line
    start(world.recipe(parameters="lora"), home=world.home, name="lora")
    line = runs(world, "show", "lora").stdout.splitlines()[4]
    assert "rank = 16, alpha = 32" in line
    assert "bits" not in line


def test_a_long_failure_is_one_short_line_in_the_list(world: World) -> None:
    world.write_worker(
        "say('stopped: the rows ' + 'r1, ' * 100 + 'are wrong: mend them')\nsys.exit(1)"
    )
    with pytest.raises(ModelError):
        start(world.recipe(), home=world.home, name="second")
    result = runs(world, "list")
    second = result.stdout.splitlines()[1]
    assert second.endswith(" ...")
    assert len(second) < 150
    assert "Compare runs" not in result.stderr  # only one of them trained
    assert "are wrong: mend them" in runs(world, "show", "second").stdout
    world.write_worker(GOOD)
    start(world.recipe(), home=world.home, name="third")
    assert "Compare runs: ragkit tune runs compare first third" in runs(world, "list").stderr


def test_a_resumed_run_that_is_stopped_again_ends_with_1(world: World) -> None:
    stops = "Path(job['log']).with_name('stop').touch()\ntime.sleep(600)"
    world.write_worker(stops)
    start(world.recipe(), home=world.home, name="second")
    result = runs(world, "resume", "second")
    assert result.returncode == 1
    assert "second  stopped" in result.stdout


def test_times_are_minutes_when_they_are_long() -> None:
    def line(left_s: float) -> str:
        return progress_line(Progress(3, 9, 1.0, 0.5, None, left_s))

    assert line(90).endswith(", 90 s left")
    assert line(480).endswith(", 8 min left")
    assert line(4896).endswith(", 82 min left")


def test_stop_says_what_is_saved(world: World) -> None:
    assert "The step at hand is saved" in " ".join(runs(world, "stop", "--help").stdout.split())
