"""Read a report's texts from run files line by line, because runs may not fit in memory.

All items give their tags and confidence; selected items give their texts, cut to a length.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ragkit_eval.report.safe_text import head
from ragkit_eval.run.record import Record, Run, read_lines

Key = tuple[str, str]  # a task's name and an item's id
TEXT_CHARS = 6_000  # of a prompt or an answer; arbitrary: some three screens
PASSAGE_CHARS = 2_000
PASSAGES = 10  # of one answer


@dataclass(frozen=True, slots=True)
class CutRecord:
    """An item's record with shortened texts; `cut` counts the characters left out of each."""

    record: Record
    cut: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Extract:
    """Values of a run's lines besides the scores, by item."""

    tags: Mapping[Key, tuple[tuple[str, str], ...]]
    confidence: Mapping[Key, float]
    answerable: Mapping[Key, bool]
    records: Mapping[Key, CutRecord]


def extract(run: Run, selected: Container[Key]) -> Extract:
    """Read a run's file, storing the texts of selected items only."""
    tags: dict[Key, tuple[tuple[str, str], ...]] = {}
    confidence: dict[Key, float] = {}
    answerable: dict[Key, bool] = {}
    records: dict[Key, CutRecord] = {}
    for line in read_lines(run.path):
        if not isinstance(line, Record):
            continue
        key = (line.task, line.id)
        if item_tags := _read_tags(line.detail):
            tags[key] = item_tags
        score = line.detail.get("confidence")
        if isinstance(score, int | float) and not isinstance(score, bool):
            confidence[key] = float(score)
        if isinstance(is_answerable := labels(line.detail).get("answerable"), bool):
            answerable[key] = is_answerable
        if key in selected:
            records[key] = _cut_record(line)
    return Extract(tags, confidence, answerable, records)


def labels(detail: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the labels of an item, as a labelled set's task stores them."""
    values = detail.get("labels")
    return values if isinstance(values, Mapping) else {}


def _read_tags(detail: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    tags = dict[str, str]()
    for value in (detail.get("tags"), labels(detail).get("tags")):
        if isinstance(value, Mapping):
            tags.update((str(name), str(tag)) for name, tag in value.items())
    answerable = labels(detail).get("answerable")
    if isinstance(answerable, bool):
        tags["answerable"] = "yes" if answerable else "no"
    return tuple(tags.items())


def _cut_record(record: Record) -> CutRecord:
    cut = {}
    texts = dict[str, Any]()
    for name in ("prompt", "question", "output", "prediction", "error"):
        texts[name], left_out = head(getattr(record, name), TEXT_CHARS)
        if left_out:
            cut[name] = left_out
    texts["targets"] = tuple(head(target, TEXT_CHARS)[0] for target in record.targets)
    texts["detail"] = {name: _cut_value(value) for name, value in record.detail.items()}
    return CutRecord(replace(record, **texts), cut)


def _cut_value(value: Any) -> Any:
    """Shorten a value of a detail; lists of passages and citations hold mappings with texts."""
    if isinstance(value, str):
        return value[:TEXT_CHARS]
    if isinstance(value, list):
        return [_cut_entry(entry) for entry in value[: 4 * PASSAGES]]
    return value


def _cut_entry(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            name: member[:PASSAGE_CHARS] if isinstance(member, str) else member
            for name, member in value.items()
        }
    return value[:PASSAGE_CHARS] if isinstance(value, str) else value
