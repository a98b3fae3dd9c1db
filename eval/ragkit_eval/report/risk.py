"""How wrong answers are when only the surest of them are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragkit_eval.answers import refusal_curve
from ragkit_eval.record import Record
from ragkit_eval.report.texts import Extract

Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Risk:
    """One run's (share answered, risk), the surest questions first; `meaning` says of what."""

    points: Points
    meaning: str


def risk(records: Sequence[Record], metric: str, extract: Extract) -> Risk | None:
    """Draw the curve of a run that tells its confidence; None for others.

    Where some questions have an answer in the documents and some have none, the risk is to answer
    one of the latter, as `ragkit_eval.answers.refusal_curve` has it; else it is 1 - mean score.
    """
    sure = [
        (extract.confidence[record.task, record.id], record)
        for record in records
        if record.status != "error" and (record.task, record.id) in extract.confidence
    ]
    if len({confidence for confidence, _ in sure}) < 2:
        return None
    told = [
        (confidence, extract.answerable[record.task, record.id])
        for confidence, record in sure
        if (record.task, record.id) in extract.answerable
    ]
    if len({answerable for _, answerable in told}) == 2:
        curve = refusal_curve([one for one, _ in told], [can for _, can in told])
        points = tuple((point.coverage, point.risk) for point in curve.points)
        return Risk(points, "answered, though the documents do not")
    scored = [
        (confidence, float(value))
        for confidence, record in sure
        if (value := record.value(metric)) is not None
    ]
    return Risk(risk_curve(scored), "1 − mean score") if scored else None


def risk_curve(scored: Sequence[tuple[float, float]]) -> Points:
    """Return (share answered, 1 - mean score) as less and less sure answers are given.

    Answers of equal confidence are given together. `scored` are (confidence, score).
    """
    ordered = sorted(scored, key=lambda pair: -pair[0])
    points, total = [], 0.0
    for n, (confidence, score) in enumerate(ordered, 1):
        total += score
        if n == len(ordered) or ordered[n][0] != confidence:
            points.append((n / len(ordered), 1 - total / n))
    return tuple(points)
