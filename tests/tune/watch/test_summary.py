"""A run in figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragkit.errors import UsageError
from ragkit_tune.data.data_set import write_data_set
from ragkit_tune.watch.summary import Best, summarise
from tests.tune.watch.run_folders import dev, make_run, step, verdict
from tests.tune.worker.tiny import pair_rows


def test_the_best_is_the_first_of_the_measure_that_decides(tmp_path: Path) -> None:
    lines = [
        {"step": 0, "dev": {"mrr@10": 0.9, "ndcg@10": 0.6}},
        *(step(n) for n in range(1, 5)),
        *({"step": n, "dev": {"mrr@10": 1 - n / 9, "ndcg@10": v}} for n, v in ((2, 0.5), (4, 0.5))),
    ]
    found = summarise(make_run(tmp_path, "a", lines))
    # The measure before training is no checkpoint, though it is greater.
    assert found.best == Best("ndcg@10", 0.5, 2, 0.6)
    assert found.steps == 4


def test_a_loss_is_best_where_it_is_least(tmp_path: Path) -> None:
    lines = [step(1), dev(1, 2.0, "loss"), step(2), dev(2, 1.0, "loss"), dev(3, 1.5, "loss")]
    found = summarise(make_run(tmp_path, "a", lines, recipe={"kind": "adapter"}))
    assert found.best == Best("loss", 1.0, 2, None)
    assert found.best.is_lower_better


def test_time_speed_and_memory_are_those_of_the_log(tmp_path: Path) -> None:
    lines = [
        step(1),
        step(2, tokens=100),
        step(3, tokens=100_000, peak_process_bytes=5 * 2**30),
        step(4, tokens=200),
    ]
    found = summarise(make_run(tmp_path, "a", lines))
    assert (found.seconds, found.tokens_per_s) == (8.0, 100.0)  # the median of 50, 50,000 and 100
    assert (found.peak_bytes, found.peak_of) == (5 * 2**30, "process")
    lines.append(step(5, peak_gpu_bytes=7))
    found = summarise(make_run(tmp_path, "b", lines))
    assert (found.peak_bytes, found.peak_of) == (7, "gpu")


def test_a_run_of_an_older_ragkit_and_one_without_steps_tell_less(tmp_path: Path) -> None:
    old = step(1)
    del old["peak_process_bytes"]
    found = summarise(make_run(tmp_path, "old", [old]))
    assert (found.peak_bytes, found.best, found.verdict, found.rows) == (None, None, None, None)
    empty = summarise(make_run(tmp_path, "empty", []))
    assert (empty.steps, empty.seconds, empty.tokens_per_s, empty.series) == (0, None, None, {})


def test_rows_are_counted_while_they_are_those_of_the_run(tmp_path: Path) -> None:
    rows = {"train": pair_rows(8), "dev": pair_rows(2, seed=1), "test": []}
    data = write_data_set(tmp_path / "rows", "pairs", rows, {})  # type: ignore[arg-type]
    recipe = {"data": str(data.folder)}
    run = make_run(tmp_path, "a", [step(1)], recipe=recipe, data_hash=data.hash)
    assert (summarise(run).rows, summarise(run).dev_rows) == (8, 2)
    other = make_run(tmp_path, "b", [step(1)], recipe=recipe, data_hash="other")
    assert summarise(other).rows is None
    (data.folder / "train.jsonl").write_text("", "utf-8")
    assert summarise(run).rows is None


def test_figures_are_json(tmp_path: Path) -> None:
    made = make_run(tmp_path, "a", [step(1, "nan"), dev(1, 0.5)], verdict=verdict(0.03, 0.01, 0.05))
    values = json.loads(json.dumps(summarise(made).as_json(), allow_nan=False))
    assert values["best"] == {"measure": "ndcg@10", "value": 0.5, "step": 1, "before": None}
    assert values["verdict"]["main"]["low"] == 0.01
    assert values["recipe"]["base"] == "minilm"


def test_a_damaged_verdict_is_named(tmp_path: Path) -> None:
    made = make_run(tmp_path, "a", [step(1)], verdict={"outcome": "great"})
    with pytest.raises(UsageError, match=r"run\.json: the verdict cannot be read"):
        summarise(made)
