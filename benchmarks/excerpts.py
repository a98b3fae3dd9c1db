"""Recall, precision and IoU of shown stretches against the excerpts that answer a question.

Smith and Troynikov (Chroma, 2024), https://research.trychroma.com/evaluating-chunking, by
characters: with e the excerpts' and r the shown characters, those shown twice counted twice,
recall = |e and r| / |e|, precision = |e and r| / |r|, IoU = |e and r| / (|r| + |e not in r|). It
knows nothing of how stretches were found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragkit_eval.sets import Excerpt, Question

SHOWN = 5
BUDGET_TOKENS = 1000


@dataclass(frozen=True, slots=True)
class Stretch:
    """What is shown when a chunk is found: `start:end` of a document, and its tokens."""

    document: str
    start: int
    end: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Measures:
    """Means over questions; `shown` counts tokens."""

    recall: float
    precision: float
    iou: float
    bound: float
    shown: float
    recall_in_budget: float


def measures(
    questions: Sequence[Question], stretches: Sequence[Stretch], ranked: Sequence[Sequence[int]]
) -> Measures:
    """Score each question's stretches, best first, given by their places in `stretches`."""
    rows = [
        _measured(question.excerpts, stretches, [stretches[place] for place in order])
        for question, order in zip(questions, ranked, strict=True)
    ]
    return Measures(*(sum(column) / len(rows) for column in zip(*rows, strict=True)))


def _measured(
    excerpts: Sequence[Excerpt], every: Sequence[Stretch], order: Iterable[Stretch]
) -> tuple[float, ...]:
    best = list(dict.fromkeys(order))  # a parent counts once
    first = best[:SHOWN]
    gold = _union((e.document, e.start, e.end) for e in excerpts)
    wanted = _size(gold)
    hit = _common(gold, first)
    size = sum(one.end - one.start for one in first)
    holding = {one for one in every if _common(gold, [one])}
    held = sum(one.end - one.start for one in holding)
    return (
        hit / wanted,
        hit / size,
        hit / (size + wanted - hit),
        _common(gold, holding) / held if held else 0.0,
        float(sum(one.tokens for one in first)),
        _common(gold, _in_budget(best)) / wanted,
    )


def _in_budget(best: Iterable[Stretch]) -> list[Stretch]:
    """Take stretches, best first, up to the first that does not fit any more."""
    taken: list[Stretch] = []
    left = BUDGET_TOKENS
    for one in best:
        left -= one.tokens
        if left < 0:
            break
        taken.append(one)
    return taken


def _common(gold: Sequence[tuple[str, int, int]], shown: Iterable[Stretch]) -> int:
    """Count the gold characters that are in some stretch."""
    places = _union((one.document, one.start, one.end) for one in shown)
    return sum(
        max(0, min(end, e) - max(start, s))
        for document, start, end in gold
        for d, s, e in places
        if d == document
    )


def _union(places: Iterable[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Join what overlaps, so that no character counts twice."""
    joined: list[tuple[str, int, int]] = []
    for document, start, end in sorted(places):
        if joined and joined[-1][0] == document and start <= joined[-1][2]:
            joined[-1] = (document, joined[-1][1], max(end, joined[-1][2]))
        else:
            joined.append((document, start, end))
    return joined


def _size(places: Iterable[tuple[str, int, int]]) -> int:
    return sum(end - start for _, start, end in places)
