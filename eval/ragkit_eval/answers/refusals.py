"""Refusals: precision and recall on unanswerable questions, and the risk-coverage curve.

The correctness of answers is not considered.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from ragkit.errors import UsageError


@dataclass(frozen=True, slots=True)
class RefusalScores:
    """Scores of a set's refusals; a share of no questions is None.

    `precision` is the share of refusals of unanswerable questions, `recall` the refused share of
    unanswerable questions, `f1` their harmonic mean. `false_refusals` is the refused share of
    answerable questions. `answerable` and `unanswerable` count the questions.
    """

    precision: float | None
    recall: float | None
    f1: float | None
    false_refusals: float | None
    answerable: int
    unanswerable: int


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The effect of answering the questions with a confidence of at least `threshold`.

    `coverage` is the answered share of the questions, `risk` the share of unanswerable questions
    among the answered ones.
    """

    threshold: float
    coverage: float
    risk: float


@dataclass(frozen=True, slots=True)
class RefusalCurve:
    """Risk by coverage, from the strictest threshold to answering everything.

    `area` is the area under the curve, 0 to 1, lower is better; `least_area` is the area of the
    best order of the same questions.
    """

    points: tuple[CurvePoint, ...]
    area: float
    least_area: float


def refusal_scores(refused: Sequence[bool], answerable: Sequence[bool]) -> RefusalScores:
    """Compare the refused questions with the unanswerable questions.

    f1 = 2 TP / (2 TP + FP + FN), which is 0 if no unanswerable question was refused. Raises
    UsageError for an empty set and for unequal lengths.

    >>> refusal_scores([True, True, False], [False, True, True])
    ... # doctest: +NORMALIZE_WHITESPACE
    RefusalScores(precision=0.5, recall=1.0, f1=0.6666666666666666, false_refusals=0.5,
                  answerable=2, unanswerable=1)
    """
    _check(refused, answerable)
    pairs = list(zip(refused, answerable, strict=True))
    true_refusals = sum(is_refused and not is_answerable for is_refused, is_answerable in pairs)
    false_refusals = sum(is_refused and is_answerable for is_refused, is_answerable in pairs)
    answerable_count = sum(answerable)
    unanswerable_count = len(pairs) - answerable_count
    return RefusalScores(
        precision=_share(true_refusals, true_refusals + false_refusals),
        recall=_share(true_refusals, unanswerable_count),
        f1=_share(2 * true_refusals, true_refusals + false_refusals + unanswerable_count),
        false_refusals=_share(false_refusals, answerable_count),
        answerable=answerable_count,
        unanswerable=unanswerable_count,
    )


def refusal_curve(confidence: Sequence[float], answerable: Sequence[bool]) -> RefusalCurve:
    """Draw the risk-coverage curve of refusing below a confidence, and its area.

    The area is the mean, over n = 1 ... N answered questions, most confident first, of the share
    of unanswerable ones; questions of equal confidence count as in a random order. Raises
    UsageError for an empty set, unequal lengths and a confidence that is not a number. Source:
    El-Yaniv and Wiener 2010, https://jmlr.org/papers/v11/el-yaniv10a.html; the area as in Geifman
    and El-Yaniv 2019, https://arxiv.org/abs/1805.08206.

    >>> round(refusal_curve([0.9, 0.8, 0.1], [True, False, True]).area, 4)  # (0 + 1/2 + 1/3) / 3
    0.2778
    """
    _check(confidence, answerable)
    for number, value in enumerate(confidence):
        if math.isnan(value):
            raise UsageError(f"the confidence of question {number + 1} is not a number: correct it")
    order = sorted(zip(confidence, answerable, strict=True), key=lambda pair: -pair[0])
    groups = [
        (threshold, [answer for _, answer in pairs])
        for threshold, pairs in groupby(order, key=lambda pair: pair[0])
    ]
    points, area = [], 0.0
    done, bad = 0, 0
    for threshold, group in groups:
        area += sum(_risks(group, done, bad))
        done, bad = done + len(group), bad + group.count(False)
        points.append(CurvePoint(threshold, done / len(order), bad / done))
    best = sum(_risks([False] * bad, done - bad, 0))
    return RefusalCurve(tuple(points), area / done, best / done)


def _risks(group: list[bool], done: int, bad: int) -> Iterator[float]:
    """Yield the expected risk after each question of a group of equal confidence."""
    share = group.count(False) / len(group) if group else 0.0
    for number in range(1, len(group) + 1):
        yield (bad + number * share) / (done + number)


def _check(values: Sequence[object], answerable: Sequence[bool]) -> None:
    if len(values) != len(answerable):
        raise UsageError(
            f"{len(values)} outcomes for {len(answerable)} questions: give one for each question"
        )
    if not answerable:
        raise UsageError("the set has no questions: give at least one")


def _share(part: int, total: int) -> float | None:
    return part / total if total else None
