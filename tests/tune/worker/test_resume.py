"""A run that is killed and resumed ends with the same weights, to the last bit."""

import json
import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.tune.worker.here import run_here, script, stop_of
from tests.tune.worker.kills import (
    fork_encoder,
    kill_and_resume,
    make_run,
    prepare,
    resume,
    train,
    weights_hash,
)
from tests.tune.worker.tiny import logged, pair_rows, write_encoder, write_job

pytestmark = pytest.mark.long


def test_a_killed_run_ends_with_the_same_weights(tmp_path: Path) -> None:
    prepare()
    base = fork_encoder(tmp_path / "base")
    whole = make_run(tmp_path / "whole", base)
    assert train(whole)
    job = make_run(tmp_path / "killed", base)
    resumed = kill_and_resume(job, random.Random(5), kills=3)
    assert len(resumed) >= 2
    assert weights_hash(job) == weights_hash(whole)
    logs = [
        [(line["step"], line["loss"]) for line in logged(tmp_path / name) if "loss" in line]
        for name in ("whole", "killed")
    ]
    assert logs[0] == logs[1]
    assert len(logs[0]) == 24


def test_the_newest_two_checkpoints_stay_and_the_best(tmp_path: Path) -> None:
    base = write_encoder(tmp_path / "base")
    settings: dict[str, Any] = {
        "steps": 30,
        "evaluate_every": 6,
        "save_every": 3,
        "learning_rate": 0.03,
    }
    job = write_job(tmp_path / "run", base, pair_rows(64), pair_rows(16, seed=9), **settings)
    assert run_here(job)[0] == 0
    measured = [(-line["dev"]["ndcg@10"], line["step"]) for line in logged(tmp_path / "run")[2:]
                if "dev" in line]  # fmt: skip
    best = min(measured)[1]
    names = {path.name for path in (tmp_path / "run/checkpoints").iterdir()}
    assert names == {"step-000027", "step-000030", f"step-{best:06d}"}
    about = json.loads((tmp_path / "run/checkpoints/step-000030/checkpoint.json").read_text())
    assert about["stopping"]["best_step"] == best


def test_a_run_ends_early_without_a_new_best_and_when_its_time_is_up(tmp_path: Path) -> None:
    base = write_encoder(tmp_path / "base")
    rows, dev = pair_rows(64), pair_rows(16, seed=9)
    still: dict[str, Any] = {"steps": 40, "evaluate_every": 2, "patience": 2, "learning_rate": 0.0}
    assert run_here(write_job(tmp_path / "still", base, rows, dev, **still))[0] == 0
    events = [line["event"] for line in logged(tmp_path / "still") if "event" in line]
    assert "stopped early: no better in 2 measurements" in events
    assert events[-2] == "the best is step 2"
    assert events[-1].startswith("training did not improve the dev rows: ndcg@10 ")
    short: dict[str, Any] = {"steps": 100_000, "evaluate_every": 50_000, "minutes": 0.02}
    assert run_here(write_job(tmp_path / "short", base, rows, dev, **short))[0] == 0
    events = [line["event"] for line in logged(tmp_path / "short") if "event" in line]
    assert "stopped early: time is up" in events
    assert (tmp_path / "short/model/model.safetensors").is_file()


def test_a_run_that_had_ended_early_makes_no_more_steps(tmp_path: Path) -> None:
    base = write_encoder(tmp_path / "base")
    still: dict[str, Any] = {"steps": 40, "evaluate_every": 2, "patience": 2, "learning_rate": 0.0}
    job = write_job(tmp_path / "run", base, pair_rows(64), pair_rows(16, seed=9), **still)
    assert run_here(job)[0] == 0
    (tmp_path / "run/model").rename(tmp_path / "run/whole")
    assert resume(job) == 6
    assert run_here(job)[0] == 0
    assert max(line["step"] for line in logged(tmp_path / "run")) == 6
    weights = [tmp_path / "run" / name / "model.safetensors" for name in ("whole", "model")]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_a_run_that_is_asked_to_end_saves_its_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = write_encoder(tmp_path / "base")
    rows, dev = pair_rows(64), pair_rows(16, seed=9)
    settings: dict[str, Any] = {"steps": 8, "evaluate_every": 8}
    assert run_here(write_job(tmp_path / "whole", base, rows, dev, **settings))[0] == 0
    job = write_job(tmp_path / "run", base, rows, dev, **settings)
    values = json.loads(job.read_text("utf-8"))
    guard = script("guard").Guard
    log_step = guard.on_log

    def end(self: Any, args: Any, state: Any, *rest: Any, **named: Any) -> None:
        log_step(self, args, state, *rest, **named)
        if state.global_step == 2:
            os.kill(os.getpid(), signal.SIGTERM)

    def ignore(*_: object) -> None:
        """Stand where the worker's own way to end stands."""

    previous = signal.signal(signal.SIGTERM, ignore)
    with monkeypatch.context() as patch:
        patch.setattr(guard, "on_log", end)
        reason = stop_of(job)
    assert signal.signal(signal.SIGTERM, previous) is ignore
    assert reason == "asked to end after step 3: resume goes on from there"
    values["resume"] = str(tmp_path / "run/checkpoints/step-000003")
    job.write_text(json.dumps(values), "utf-8")
    assert run_here(job)[0] == 0
    weights = [tmp_path / name / "model/model.safetensors" for name in ("whole", "run")]
    assert weights[0].read_bytes() == weights[1].read_bytes()
