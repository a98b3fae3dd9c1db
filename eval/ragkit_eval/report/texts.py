"""What a report takes from run files line by line, since whole runs do not fit in memory.

Of every item its tags and confidence; of the few that are shown, their texts, cut to a length.
It knows nothing of which items are shown, or why.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ragkit_eval.record import Record, Run, read_lines
from ragkit_eval.report.inert import head

Key = tuple[str, str]  # a task's name and an item's id
TEXT_CHARS = 6_000  # of a prompt or an answer; arbitrary: some three screens
PASSAGE_CHARS = 2_000
PASSAGES = 10  # of one answer


@dataclass(frozen=True, slots=True)
class Shown:
    """An item's record with its texts cut; `cut` counts the characters left out of each."""

    record: Record
    cut: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Extract:
    """What the lines of one run hold beside its scores."""

    tags: Mapping[Key, tuple[tuple[str, str], ...]]
    confidence: Mapping[Key, float]
    answerable: Mapping[Key, bool]
    shown: Mapping[Key, Shown]


def extract(run: Run, wanted: Container[Key]) -> Extract:
    """Read a run's file once more, keeping the texts of the wanted items alone."""
    tags: dict[Key, tuple[tuple[str, str], ...]] = {}
    confidence: dict[Key, float] = {}
    answerable: dict[Key, bool] = {}
    shown: dict[Key, Shown] = {}
    for line in read_lines(run.path):
        if not isinstance(line, Record):
            continue
        key = (line.task, line.id)
        if found := _tags(line.detail):
            tags[key] = found
        sure = line.detail.get("confidence")
        if isinstance(sure, int | float) and not isinstance(sure, bool):
            confidence[key] = float(sure)
        if isinstance(can := labels(line.detail).get("answerable"), bool):
            answerable[key] = can
        if key in wanted:
            shown[key] = _cut(line)
    return Extract(tags, confidence, answerable, shown)


def labels(detail: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what was known of an item before it was asked, as a labelled set's task keeps it."""
    found = detail.get("labels")
    return found if isinstance(found, Mapping) else {}


def _tags(detail: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    tags = dict[str, str]()
    for value in (detail.get("tags"), labels(detail).get("tags")):
        if isinstance(value, Mapping):
            tags.update((str(name), str(one)) for name, one in value.items())
    answerable = labels(detail).get("answerable")
    if isinstance(answerable, bool):
        tags["answerable"] = "yes" if answerable else "no"
    return tuple(tags.items())


def _cut(record: Record) -> Shown:
    cut = {}
    texts = dict[str, Any]()
    for name in ("prompt", "question", "output", "prediction", "error"):
        texts[name], left_out = head(getattr(record, name), TEXT_CHARS)
        if left_out:
            cut[name] = left_out
    texts["targets"] = tuple(head(target, TEXT_CHARS)[0] for target in record.targets)
    texts["detail"] = {name: _shortened(value) for name, value in record.detail.items()}
    return Shown(replace(record, **texts), cut)


def _shortened(value: Any) -> Any:
    """Cut a detail's value: passages and citations are lists of mappings with a text or a quote."""
    if isinstance(value, str):
        return value[:TEXT_CHARS]
    if isinstance(value, list):
        return [_shortened_entry(one) for one in value[: 4 * PASSAGES]]
    return value


def _shortened_entry(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            name: one[:PASSAGE_CHARS] if isinstance(one, str) else one
            for name, one in value.items()
        }
    return value[:PASSAGE_CHARS] if isinstance(value, str) else value
