"""Read answers with the labels of people, as JSON lines, to check a judge."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from ragkit.errors import UsageError
from ragkit_eval.judge.judge import Dimension
from ragkit_eval.sets.fields import field, json_lines, optional, typed


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    """An answer with the label of people, 0 to 1; answers of a cluster are not independent."""

    question: str
    answer: str
    label: float
    references: tuple[str, ...]
    passages: tuple[str, ...]
    cluster: str


def read_labelled_answers(path: Path, dimension: Dimension) -> list[LabelledAnswer]:
    """Read {"question", "answer", "label", "references" or "passages", "group"} on each line.

    Quality needs neither references nor passages. A label is true, false, or a number from 0 to 1.
    Raises NotFoundError, and UsageError naming a malformed line, and for an empty file.
    """
    answers = [_labelled(values, where, dimension) for where, values in json_lines(path)]
    if not answers:
        raise UsageError(f"{path} is empty: write labelled answers, one JSON object a line")
    return answers


def data_hash(labelled: Sequence[LabelledAnswer]) -> str:
    """Return 16 hex digits of the sha256 of the labelled answers, regardless of order."""
    lines = sorted(
        json.dumps([item.question, item.answer, item.label, item.references, item.passages])
        for item in labelled
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _labelled(values: dict[str, Any], where: str, dimension: Dimension) -> LabelledAnswer:
    question = field(values, "question", str, where)
    if not question.strip():
        raise UsageError(f"{where}: the question is blank: write one")
    references, passages = _texts(values, "references", where), _texts(values, "passages", where)
    needed = "references" if dimension == "correctness" else "passages"
    if dimension != "quality" and not (references if dimension == "correctness" else passages):
        raise UsageError(f'{where}: {dimension} is judged by "{needed}": give at least one text')
    return LabelledAnswer(
        question,
        field(values, "answer", str, where),
        _label(values, where),
        references,
        passages,
        optional(values, "group", "", where) or question,
    )


def _label(values: dict[str, Any], where: str) -> float:
    label = values.get("label")
    if not isinstance(label, int | float) or not isfinite(label) or not 0 <= label <= 1:
        problem = "missing" if label is None else repr(label)[:40]
        raise UsageError(
            f'{where}: the "label" is {problem}: write true, false or a number from 0 to 1'
        )
    return float(label)


def _texts(values: dict[str, Any], name: str, where: str) -> tuple[str, ...]:
    value = values.get(name, [])
    listed = [value] if isinstance(value, str) else typed(value, list, f"{name!r}", where)
    texts = [typed(entry, str, f"an entry of {name!r}", where) for entry in listed]
    return tuple(text for text in texts if text.strip())
