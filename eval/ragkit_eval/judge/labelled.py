"""Answers that people labelled, as JSON lines, to hold a judge against."""

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
    """An answer and how good people found it, 0 to 1; `cluster` names what is not independent."""

    question: str
    answer: str
    label: float
    references: tuple[str, ...]
    passages: tuple[str, ...]
    cluster: str


def read_labelled_answers(path: Path, dimension: Dimension) -> list[LabelledAnswer]:
    """Read {"question", "answer", "label", "references" or "passages", "group"}, one a line.

    A label is true, false, or a number from 0 to 1. Raises NotFoundError, and UsageError naming
    the line that cannot be used, and for an empty file.
    """
    found = [_labelled(values, where, dimension) for where, values in json_lines(path)]
    if not found:
        raise UsageError(f"{path} is empty: label some answers, one JSON object a line")
    return found


def data_hash(labelled: Sequence[LabelledAnswer]) -> str:
    """Return 16 hex digits of the sha256 of the labelled answers, whatever their order."""
    lines = sorted(
        json.dumps([one.question, one.answer, one.label, one.references, one.passages])
        for one in labelled
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def _labelled(values: dict[str, Any], where: str, dimension: Dimension) -> LabelledAnswer:
    question = field(values, "question", str, where)
    if not question.strip():
        raise UsageError(f"{where}: the question is blank: write one")
    references, passages = _texts(values, "references", where), _texts(values, "passages", where)
    needed = "references" if dimension == "correctness" else "passages"
    if not (references if dimension == "correctness" else passages):
        raise UsageError(f'{where}: {dimension} is judged by "{needed}": give a text at least')
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
        shown = "missing" if label is None else repr(label)[:40]
        raise UsageError(
            f'{where}: the "label" is {shown}: write true, false or a number from 0 to 1'
        )
    return float(label)


def _texts(values: dict[str, Any], name: str, where: str) -> tuple[str, ...]:
    given = values.get(name, [])
    listed = [given] if isinstance(given, str) else typed(given, list, f"{name!r}", where)
    texts = [typed(one, str, f"an entry of {name!r}", where) for one in listed]
    return tuple(text for text in texts if text.strip())
