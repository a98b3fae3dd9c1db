"""The values that a log gives, whichever program wrote it, and how they become a run's lines.

It does not know the formats, which stand in modules of their own.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ragkit import __version__
from ragkit.errors import UsageError
from ragkit_eval.run.item import Item
from ragkit_eval.run.record import Header, Record, Status, TaskHeader, header_line, record_line

GRADED_OK = 0.5  # an item counts as right from this value of the first metric


@dataclass(frozen=True, slots=True)
class Sample:
    """One logged item with its outcome; absent texts are empty.

    `item` has what must be equal in two runs that are compared: the id, the question as its prompt,
    the choices and the targets. `question` and `targets` are for people. `scores` has the finite
    numbers by metric. `error` is the cause where there is no outcome.
    """

    item: Item
    scores: Mapping[str, float]
    question: str = ""
    targets: tuple[str, ...] = ()
    prompt: str = ""
    prediction: str = ""
    output: str = ""
    error: str = ""
    latency_s: float = 0.0
    usage: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImportedTask:
    """A log: one task that one model has done.

    `metrics` maps each metric to its signature, the first one first; it is empty where the log has
    no number for each item. `model` is the model's name, "" where the log does not say. `facts`
    describe the model and the program. `notes` are warnings about the scores, one line each;
    `left_out` names the values that are no numbers.
    """

    place: str
    name: str
    version: str
    method: str
    metrics: Mapping[str, str]
    samples: tuple[Sample, ...]
    model: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    created: str = ""
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def metric(self) -> str:
        """Return the first metric."""
        return next(iter(self.metrics))


def make_task(
    place: str,
    name: str,
    samples: Sequence[Sample],
    metrics: Mapping[str, str],
    *,
    version: str,
    method: str,
    model: str = "",
    facts: Mapping[str, Any] | None = None,
    created: str = "",
    notes: Sequence[str] = (),
    left_out: Sequence[str] = (),
) -> ImportedTask:
    """Make a task of a log's samples; `metrics` without a value in any sample are dropped.

    `left_out` names values that are not numbers. Raises UsageError for a log without samples, or
    with two samples of one id.
    """
    if not samples:
        raise UsageError(f"{place}: the log has no samples: log them when you run the evaluation")
    _check_ids(place, samples)
    measured = {
        metric: signature
        for metric, signature in metrics.items()
        if any(metric in sample.scores for sample in samples)
    }
    return ImportedTask(
        place=place,
        name=name,
        version=version,
        method=method,
        metrics=measured,
        samples=tuple(samples),
        model=model,
        facts=dict(facts or {}),
        created=created,
        notes=(*notes, *_note_undefined(name, measured, samples)),
        left_out=tuple(left_out),
    )


def run_text(tasks: Sequence[ImportedTask], *, label: str, default_name: str) -> str:
    """Write the tasks of one model as a run file.

    `label` is the run's name in tables, `default_name` the model's where no log says it. A task
    without metrics is left out. Raises UsageError where none has any, for tasks of different
    models, and for a task that stands in two logs.
    """
    model = _find_model(tasks)
    _check_names(tasks)
    measured = [task for task in tasks if task.metrics]
    if not measured:
        raise UsageError(
            f"{', '.join(task.place for task in tasks)}: no sample has a number as a score: a run"
            " needs a metric that gives a number for each item"
        )
    facts: dict[str, Any] = {}
    for task in tasks:
        facts |= task.facts
    notes = [note for task in tasks for note in task.notes]
    now = datetime.now(UTC).isoformat(timespec="seconds")
    header = Header(
        tasks=tuple(_task_header(task) for task in measured),
        model={"name": model or default_name, **facts, **({"notes": notes} if notes else {})},
        environment={"ragkit": __version__},
        created=max((task.created for task in tasks), default="") or now,
        label=label,
    )
    lines = [header_line(header)]
    lines += [
        record_line(_make_record(task, sample)) for task in measured for sample in task.samples
    ]
    return "\n".join(lines) + "\n"


def finite(value: object) -> float | None:
    """Return a number or boolean as a float; None for everything else, NaN and infinity too."""
    if not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def short_hash(text: str) -> str:
    """Return the first 16 hex digits of a text's sha256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _task_header(task: ImportedTask) -> TaskHeader:
    from ragkit_eval.tasks.hashing import prompt_hash

    items = [sample.item for sample in task.samples]
    hashed, count = prompt_hash(items)
    return TaskHeader(
        name=task.name,
        version=task.version,
        method=task.method,
        metric=task.metric,
        items=count,
        data_hash=short_hash("\n".join(item.id for item in items)),
        prompt_hash=hashed,
        metrics=dict(task.metrics),
    )


def _make_record(task: ImportedTask, sample: Sample) -> Record:
    item = sample.item
    status: Status = "ok" if sample.scores.get(task.metric, 0.0) >= GRADED_OK else "wrong"
    return Record(
        task=task.name,
        id=item.id,
        key=short_hash("\0".join((item.id, item.prompt, sample.output, *item.targets))),
        status="error" if sample.error else status,
        prediction=sample.prediction,
        targets=sample.targets or item.targets,
        scores={} if sample.error else dict(sample.scores),
        group=item.group,
        cluster=item.cluster,
        question=sample.question,
        prompt=sample.prompt,
        output=sample.output,
        error=sample.error,
        latency_s=sample.latency_s,
        usage=dict(sample.usage),
    )


def _find_model(tasks: Sequence[ImportedTask]) -> str:
    places: dict[str, str] = {}
    for task in tasks:
        if task.model:
            places.setdefault(task.model, task.place)
    if len(places) > 1:
        listed = "; ".join(f"{place} is of {model}" for model, place in places.items())
        raise UsageError(
            f"the logs are of different models: {listed}: import each as a run of its own"
        )
    return next(iter(places), "")


def _check_names(tasks: Sequence[ImportedTask]) -> None:
    places: dict[str, str] = {}
    for task in tasks:
        if task.name in places:
            raise UsageError(
                f"{task.place}: the task {task.name} stands already in {places[task.name]}: give"
                " one log of each task"
            )
        places[task.name] = task.place


def _check_ids(place: str, samples: Sequence[Sample]) -> None:
    ids: set[str] = set()
    for sample in samples:
        if sample.item.id in ids:
            raise UsageError(
                f"{place}: two samples have the id {sample.item.id!r}: give the log of one"
                " evaluation"
            )
        ids.add(sample.item.id)


def _note_undefined(task: str, metrics: Mapping[str, str], samples: Sequence[Sample]) -> list[str]:
    answered = [sample for sample in samples if not sample.error]
    undefined = {
        metric: sum(metric not in sample.scores for sample in answered) for metric in metrics
    }
    return [
        f"{task}: {metric} has no value for {count} of {len(answered)} items, which its mean"
        " leaves out"
        for metric, count in undefined.items()
        if count
    ]
