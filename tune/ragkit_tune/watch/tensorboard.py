"""Export runs to a folder that TensorBoard opens: `tensorboard --logdir FOLDER`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from ragkit.report.safe_text import line
from ragkit_tune.watch.event_file import first_record, scalars_record, text_record
from ragkit_tune.watch.files import write
from ragkit_tune.watch.summary import Summary


def export(runs: Sequence[Summary], folder: Path) -> list[Path]:
    """Write FOLDER/NAME/events.out.tfevents.SECONDS.ragkit for each run; return these files.

    A run that is exported again replaces its file. Raises UsageError when one cannot be written.
    """
    return [_export(run, folder) for run in runs]


def began_at(run: Summary) -> float:
    """Return when a run began, in seconds since 1970; 0 where it does not say."""
    try:
        return datetime.fromisoformat(str(run.run.values.get("started_at"))).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def _export(run: Summary, folder: Path) -> Path:
    began = began_at(run)
    records = [first_record(began), text_record(began, "recipe", _recipe(run))]
    points = [
        (point.step, name, point) for name, line_ in run.series.items() for point in line_.points
    ]
    for step, same in groupby(sorted(points, key=itemgetter(0)), key=itemgetter(0)):
        values = {name: point for _, name, point in same}
        seconds = max(point.seconds for point in values.values())
        scalars = {name: point.value for name, point in values.items()}
        records.append(scalars_record(began + seconds, step, scalars))
    path = folder / run.name / f"events.out.tfevents.{int(began):010d}.ragkit"
    write(path, b"".join(records))
    return path


def _recipe(run: Summary) -> str:
    """Write the recipe as a Markdown table."""
    rows = [f"| {name} | {_cell(str(value))} |" for name, value in run.run.recipe.items()]
    verdict = f"\n\nverdict: {_cell(run.verdict.sentence)}" if run.verdict else ""
    return "\n".join(["| key | value |", "|---|---|", *rows]) + verdict


def _cell(text: str) -> str:
    return line(text, 400).replace("|", "\\|")
