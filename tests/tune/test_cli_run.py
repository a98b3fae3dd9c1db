"""The commands that train: their options, the base they take, and what is wrong before any work."""

from itertools import pairwise
from pathlib import Path

import pytest

from ragkit.errors import UsageError
from ragkit.settings.settings import Settings
from ragkit_tune.cli_run import read_options
from ragkit_tune.cli_runs import StepLines
from ragkit_tune.run.log import Progress
from ragkit_tune.train import base_of
from tests.commands import run
from tests.tune.run.worlds import make_world


def test_options_are_toml_values_or_texts() -> None:
    assert read_options(["batch=16", "learning_rate=1e-5", "loss = cached-mnrl"]) == {
        "batch": 16, "learning_rate": 1e-5, "loss": "cached-mnrl",
    }  # fmt: skip
    with pytest.raises(UsageError, match=r"-o 'batch' is no NAME=VALUE"):
        read_options(["batch"])


def test_the_base_is_the_model_in_use_unless_named(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, embed_model="minilm", reranker="late:models/late")
    assert base_of(settings, "embedder", {}) == "minilm"
    assert base_of(settings, "embedder", {"base": "other"}) == "other"
    assert base_of(settings, "reranker", {}) == "models/late"
    served = Settings(home=tmp_path, embed_model="minilm", reranker="http://localhost:1/v1")
    assert base_of(served, "reranker", {}) == "minilm"
    with pytest.raises(UsageError, match="--base is missing"):
        base_of(settings, "adapter", {})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["embedder", "--name", "我的模型"], "'我的模型' is no name of a run: use up to 64"),
        (
            ["embedder", "--name", "data"],
            "data holds other files of ragkit: name the run otherwise",
        ),
        (
            ["embedder", "-o", "kind=reranker"],
            "kind 'reranker': use it with `ragkit tune reranker`",
        ),
        (["embedder", "--minutes", "-1"], "the recipe: minutes = -1 is out of range: write 0 or"),
        (["embedder", "--set", "q.jsonl", "--data", "d"], "--set makes rows and --data names rows"),
        (
            ["adapter", "--base", "m"],
            "--data is missing: make rows with `ragkit tune data --kind chat`",
        ),
        (["adapter", "--base", "m", "--method", "kto"], "`ragkit tune data --kind completion`"),
        (["reward", "--base", "m"], "`ragkit tune data --kind preference`"),
        (
            ["adapter", "--base", "m", "--data", "d", "--bits", "4", "--full"],
            "bits = 4 goes with adapters only",
        ),
    ],
)
def test_mistakes_are_told_before_any_work(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    result = run("tune", *arguments, environment={"RAGKIT_HOME": str(tmp_path)})
    assert result.returncode == 2
    assert message in result.stderr


def test_a_step_is_told_after_ten_seconds_at_the_latest() -> None:
    now = [0.0]
    told: list[str] = []
    tell = StepLines(told.append, clock=lambda: now[0])
    for step in range(1, 101):
        now[0] += 4.0
        tell(Progress(step, 1000, 1.0, 1.0, None, 60.0))
    steps = [int(line.split()[1]) for line in told]
    assert steps[0] == 1
    assert max(b - a for a, b in pairwise(steps)) <= 3
    assert len(steps) < 60
    told.clear()
    tell(Progress(1000, 1000, 1.0, 1.0, None, 0.0))
    assert len(told) == 1


def test_a_run_that_was_stopped_says_how_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(tmp_path, monkeypatch)
    world.write_worker("Path(job['log']).with_name('stop').touch()\ntime.sleep(600)")
    named = ("--base", str(world.base), "--data", str(world.data), "--name", "first")
    result = run(
        *("tune", "embedder", *named, "--no-proof"), environment={"RAGKIT_HOME": str(world.home)}
    )
    assert result.returncode == 1
    assert result.stdout == (
        "first: stopped: ended by `ragkit tune runs stop`\nGo on: ragkit tune runs resume first\n"
    )
