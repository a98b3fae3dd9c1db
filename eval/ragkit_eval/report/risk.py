"""Compute the risk of wrong answers when only the most confident ones are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragkit_eval.answers import refusal_curve
from ragkit_eval.report.extract import Extract
from ragkit_eval.run.record import Record

Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Risk:
    """One run's points (share answered, risk), most confident first; `meaning` defines the risk."""

    points: Points
    meaning: str


def risk(records: Sequence[Record], metric: str, extract: Extract) -> Risk | None:
    """Compute the curve of a run with confidences; None for other runs.

    With answerable and unanswerable questions, the risk is to answer an unanswerable one, as in
    `ragkit_eval.answers.refusal_curve`; else it is 1 - mean score.
    """
    confident = [
        (extract.confidence[record.task, record.id], record)
        for record in records
        if record.status != "error" and (record.task, record.id) in extract.confidence
    ]
    if len({confidence for confidence, _ in confident}) < 2:
        return None
    labelled = [
        (confidence, extract.answerable[record.task, record.id])
        for confidence, record in confident
        if (record.task, record.id) in extract.answerable
    ]
    if len({answerable for _, answerable in labelled}) == 2:
        curve = refusal_curve(
            [confidence for confidence, _ in labelled], [answerable for _, answerable in labelled]
        )
        points = tuple((point.coverage, point.risk) for point in curve.points)
        return Risk(points, "answered, though the documents do not")
    scored = [
        (confidence, float(value))
        for confidence, record in confident
        if (value := record.value(metric)) is not None
    ]
    return Risk(risk_curve(scored), "1 − mean score") if scored else None


def risk_curve(scored: Sequence[tuple[float, float]]) -> Points:
    """Return points (share answered, 1 - mean score), in order of falling confidence.

    Answers of equal confidence are counted together. `scored` are (confidence, score).
    """
    ordered = sorted(scored, key=lambda pair: -pair[0])
    points, total = [], 0.0
    for n, (confidence, score) in enumerate(ordered, 1):
        total += score
        if n == len(ordered) or ordered[n][0] != confidence:
            points.append((n / len(ordered), 1 - total / n))
    return tuple(points)
