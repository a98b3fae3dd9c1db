"""Runs as MLflow reads them."""

from __future__ import annotations

import json
import stat
from math import isnan
from pathlib import Path

import pytest

from ragkit.errors import UsageError
from ragkit_tune.watch.mlflow import EXPERIMENT_ID, export, metric_name
from ragkit_tune.watch.summary import summarise
from tests.tune.watch.run_folders import dev, make_run, step, verdict

LINES = [step(1, 2.5), step(2, "nan"), dev(2, 0.5)]


def test_a_run_is_a_folder_of_the_file_store(tmp_path: Path) -> None:
    made = make_run(tmp_path, "first", LINES, verdict=verdict(0.03, 0.01, 0.05))
    (folder,) = export([summarise(made)], tmp_path / "out")
    # printf 'first\n2026-11-28T10:00:00+00:00' | sha256sum | cut -c1-32
    assert folder == tmp_path / "out" / EXPERIMENT_ID / "f90ea69dea97876638a0d9e38599fcc1"
    lines = (folder / "meta.yaml").read_text("utf-8").splitlines()
    meta = {key: json.loads(value) for key, value in (line.split(": ", 1) for line in lines)}
    assert meta == {
        "artifact_uri": (folder / "artifacts").as_uri(),
        "end_time": 1795860300000,
        "entry_point_name": "",
        "experiment_id": EXPERIMENT_ID,
        "lifecycle_stage": "active",
        "run_id": folder.name,
        "run_name": "first",
        "source_name": "",
        "source_type": 4,
        "source_version": "",
        "start_time": 1795860000000,
        "status": 3,
        "tags": [],
        "user_id": "",
    }
    assert (folder / "metrics/train/loss").read_text() == (
        "1795860002000 2.5 1\n1795860004000 nan 2\n"
    )
    assert (folder / "metrics/dev/ndcg_at_10").read_text() == "1795860004000 0.5 2\n"
    assert (folder / "params/learning_rate").read_text() == "2e-05"
    assert (folder / "tags/ragkit.verdict").read_text().startswith("better by 0.030")
    assert stat.S_IMODE((folder / "params/base").stat().st_mode) == 0o600


def test_runs_come_together_in_one_experiment(tmp_path: Path) -> None:
    first, second = (summarise(make_run(tmp_path, name, LINES)) for name in ("first", "second"))
    export([first], tmp_path / "out")
    before = (tmp_path / "out" / EXPERIMENT_ID / "meta.yaml").read_bytes()
    export([second, first], tmp_path / "out")
    assert (tmp_path / "out" / EXPERIMENT_ID / "meta.yaml").read_bytes() == before
    runs = [path for path in (tmp_path / "out" / EXPERIMENT_ID).iterdir() if path.is_dir()]
    assert len(runs) == 2


def test_names_are_those_that_mlflow_allows() -> None:
    assert metric_name("dev/ndcg@10") == "dev/ndcg_at_10"
    assert metric_name("dev/a,b(c)") == "dev/a_b_c_"


@pytest.mark.parametrize("name", ["../../x", "a//b", "x" * 300])
def test_a_measure_that_leads_out_of_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    made = summarise(make_run(tmp_path, "a", [step(1), dev(1, 0.5, name)]))
    with pytest.raises(UsageError, match="which is no name"):
        export([made], tmp_path / "out")
    assert not (tmp_path / "x").exists()


def test_mlflow_reads_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tracking = pytest.importorskip(
        "mlflow.tracking", reason="mlflow is not installed: the files are compared above"
    )
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    runs = [
        make_run(tmp_path, "first", LINES),
        make_run(tmp_path, "empty", [], state="failed", failure="no memory"),
    ]
    export([summarise(run) for run in runs], tmp_path / "out")
    client = tracking.MlflowClient((tmp_path / "out").as_uri())
    found = {run.info.run_name: run for run in client.search_runs([EXPERIMENT_ID])}
    first, empty = found["first"], client.get_run(found["empty"].info.run_id)
    assert (first.info.status, empty.info.status) == ("FINISHED", "FAILED")
    assert first.data.metrics["dev/ndcg_at_10"] == 0.5
    history = client.get_metric_history(first.info.run_id, "train/loss")
    assert [(entry.step, entry.timestamp) for entry in history] == [
        (1, 1795860002000),
        (2, 1795860004000),
    ]
    assert isnan(history[1].value)
    assert first.data.params["batch"] == "32"
    assert empty.data.tags["ragkit.failure"] == "no memory"
    assert [file.path for file in client.list_artifacts(first.info.run_id)] == ["run.json"]
