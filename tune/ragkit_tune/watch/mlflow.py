"""Export runs to a folder in the layout of MLflow's file store: one experiment, its runs.

The layout is that of mlflow/store/tracking/file_store.py of MLflow 3.17: meta.yaml of experiment
and run; a file for each parameter and tag with its value, and for each metric with lines of
milliseconds, value and step. Newer MLflow reads it with MLFLOW_ALLOW_FILE_STORE=true, or turns it
into a database by `mlflow migrate-filestore`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from ragkit.errors import UsageError
from ragkit.report.safe_text import line
from ragkit_tune.watch.files import make_folder, write
from ragkit_tune.watch.series import Series
from ragkit_tune.watch.summary import Summary
from ragkit_tune.watch.tensorboard import began_at

EXPERIMENT: Final = "ragkit tune"
EXPERIMENT_ID: Final = "417268530291846375"  # arbitrary and fixed, so that exports come together
_STATES: Final = {"running": 1, "finished": 3, "failed": 4, "stopped": 5}  # RunStatus: 5 is KILLED
_LOCAL: Final = 4  # SourceType
_MOST_CHARS: Final = 6000  # of a parameter's value, by mlflow/utils/validation.py
_NOT_IN_NAMES: Final = re.compile(r"[^\w.\- :/]")  # the same


def export(runs: Sequence[Summary], folder: Path) -> list[Path]:
    """Write the runs into one experiment below FOLDER; return the folders of the runs.

    A run that is exported again replaces itself. Raises UsageError when a file cannot be written.
    """
    experiment = folder / EXPERIMENT_ID
    for file, name, number in (
        (experiment, EXPERIMENT, EXPERIMENT_ID),
        (folder / "0", "Default", "0"),  # which MLflow expects
    ):
        if not (file / "meta.yaml").is_file():
            began = min((_milliseconds(run) for run in runs), default=0)
            _write_yaml(file / "meta.yaml", _experiment(file, name, number, began))
    return [_export(run, experiment) for run in runs]


def run_id(run: Summary) -> str:
    """Return 32 hex digits of a run's name and beginning: the same at each export."""
    text = f"{run.name}\n{run.run.values.get('started_at')}"
    return sha256(text.encode()).hexdigest()[:32]


def metric_name(name: str) -> str:
    """Return a curve's name as MLflow allows it.

    >>> metric_name("dev/ndcg@10")
    'dev/ndcg_at_10'
    """
    return _NOT_IN_NAMES.sub("_", name.replace("@", "_at_"))


def _export(run: Summary, experiment: Path) -> Path:
    ident, began = run_id(run), _milliseconds(run)
    folder = experiment / ident
    make_folder(folder / "metrics")  # without which MLflow finds no run
    for name, series in run.series.items():
        write(folder / "metrics" / _inside(metric_name(name)), _metric(series, began))
    for name, value in run.run.recipe.items():
        text = json.dumps(value) if isinstance(value, list) else str(value)
        write(folder / "params" / _inside(metric_name(name)), text[:_MOST_CHARS].encode())
    for name, value in _tags(run):
        write(folder / "tags" / name, value.encode("utf-8", "replace"))
    artifacts = folder / "artifacts"
    write(artifacts / "run.json", _as_json(run))
    # The last one: a run without it is no run to MLflow, so half an export is never shown.
    _write_yaml(folder / "meta.yaml", _run(run, ident, artifacts, began))
    return folder


def _experiment(folder: Path, name: str, number: str, began: int) -> dict[str, Any]:
    return {
        "artifact_location": folder.absolute().as_uri(),
        "creation_time": began,
        "experiment_id": number,
        "last_update_time": began,
        "lifecycle_stage": "active",
        "name": name,
    }


def _run(run: Summary, ident: str, artifacts: Path, began: int) -> dict[str, Any]:
    return {
        "artifact_uri": artifacts.absolute().as_uri(),
        "end_time": _end(run),
        "entry_point_name": "",
        "experiment_id": EXPERIMENT_ID,
        "lifecycle_stage": "active",
        "run_id": ident,
        "run_name": run.name,
        "source_name": "",
        "source_type": _LOCAL,
        "source_version": "",
        "start_time": began,
        "status": _STATES[run.run.state],
        "tags": [],
        "user_id": "",
    }


def _metric(series: Series, began: int) -> bytes:
    lines = (
        f"{began + round(point.seconds * 1000)} {point.value!r} {point.step}\n"
        for point in series.points
    )
    return "".join(lines).encode()


def _tags(run: Summary) -> Iterator[tuple[str, str]]:
    yield "mlflow.runName", run.name
    yield "mlflow.source.name", "ragkit tune"
    yield "mlflow.source.type", "LOCAL"
    yield "ragkit.kind", run.run.kind
    yield "ragkit.base", line(run.base, 400)
    yield "ragkit.data_hash", str(run.run.values.get("data_hash", ""))
    if run.verdict:
        yield "ragkit.verdict", line(run.verdict.sentence, 400)
        yield "ragkit.outcome", run.verdict.outcome
    if run.run.failure:
        yield "ragkit.failure", line(run.run.failure, 1000)


def _as_json(run: Summary) -> bytes:
    return (json.dumps(run.as_json(), ensure_ascii=True, indent=2) + "\n").encode()


def _inside(name: str) -> Path:
    """Return a name as a path below a folder. Raises UsageError for one that leads elsewhere."""
    parts = name.split("/")
    if not all(parts) or {".", ".."} & set(parts) or max(map(len, parts)) > 200:
        raise UsageError(f"the log has a measure {name[:80]!r}, which is no name: start a new run")
    return Path(*parts)


def _milliseconds(run: Summary) -> int:
    return round(began_at(run) * 1000)


def _end(run: Summary) -> int | None:
    ended = run.run.values.get("ended_at")
    try:
        return round(datetime.fromisoformat(str(ended)).timestamp() * 1000) if ended else None
    except (ValueError, OverflowError):
        return None


def _write_yaml(path: Path, values: Mapping[str, Any]) -> None:
    """Write plain values as YAML, of which a value in JSON is one."""
    lines = (f"{name}: {json.dumps(value)}\n" for name, value in values.items())
    write(path, "".join(lines).encode())
