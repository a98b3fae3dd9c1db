"""The curves in a log."""

from __future__ import annotations

from math import inf, isnan
from pathlib import Path

import pytest

from ragkit_tune.run.log import read_log
from ragkit_tune.watch.series import Point, read_series, step_of
from tests.tune.watch.run_folders import dev, make_run, step


def test_a_log_has_a_curve_for_each_name(tmp_path: Path) -> None:
    lines = [dev(0, 0.25), step(1, 2.5), step(2, 1.5, tokens=128), dev(2, 0.5)]
    series = read_series(read_log(make_run(tmp_path, "a", lines).folder.steps))
    assert set(series) == {
        "train/loss",
        "train/grad_norm",
        "train/learning_rate",
        "train/tokens_per_s",
        "dev/ndcg@10",
    }
    assert series["train/loss"].points == (Point(1, 2.5, 2.0), Point(2, 1.5, 4.0))
    assert series["train/tokens_per_s"].points == (Point(2, 64.0, 4.0),)  # 128 tokens in 2 s
    assert series["dev/ndcg@10"].points == (Point(0, 0.25, 0.0), Point(2, 0.5, 4.0))


def test_values_that_are_no_finite_numbers_stay_apart(tmp_path: Path) -> None:
    lines = [step(1, 2.5), step(2, "nan"), step(3, "inf", grad_norm=None), step(4, "x")]
    loss = read_series(read_log(make_run(tmp_path, "a", lines).folder.steps))["train/loss"]
    assert [point.step for point in loss.finite] == [1]
    assert [point.step for point in loss.broken] == [2, 3, 4]
    assert isnan(loss.points[1].value)
    assert loss.points[2].value == inf


def test_rewards_of_one_step_are_averaged_and_have_its_time(tmp_path: Path) -> None:
    lines = [
        {"step": 1, "reward": 0.25, "supported": 1.0},
        {"step": 1, "reward": 0.75, "supported": 1.0},
        step(1, 0.1),
        {"step": 2, "reward": 0.5, "supported": 0.0},
    ]
    series = read_series(read_log(make_run(tmp_path, "a", lines).folder.steps))
    assert series["reward/reward"].points == (Point(1, 0.5, 2.0), Point(2, 0.5, 2.0))
    assert "reward/refused" not in series


@pytest.mark.parametrize("given", [-1, True, "3", 2**63, None])
def test_what_is_no_step_is_step_0(given: object) -> None:
    assert step_of({"step": given}) == 0


def test_a_damaged_log_gives_what_can_be_read(tmp_path: Path) -> None:
    run = make_run(
        tmp_path, "a", [step(1), {"step": 1, "dev": [1]}, {"step": 2, "dev": {"m": "x"}}]
    )
    series = read_series(read_log(run.folder.steps))
    assert len(series["train/loss"].finite) == 1
    assert series["dev/m"].finite == ()
