"""Refusals: whether the unanswerable questions were refused and only these, and at what price.

Knows nothing of whether the answers that were given are right.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from ragkit.errors import UsageError


@dataclass(frozen=True, slots=True)
class RefusalScores:
    """How a set was refused, a refusal being what is looked for; None where a share is of nothing.

    `precision` is the share of the refusals that were right, `recall` that of the unanswerable
    questions that were refused, `f1` their harmonic mean. `false_refusals` is the share of the
    answerable questions that were refused. `answerable` and `unanswerable` count the questions.
    """

    precision: float | None
    recall: float | None
    f1: float | None
    false_refusals: float | None
    answerable: int
    unanswerable: int


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """What comes of answering all questions of a confidence of at least `threshold`.

    `coverage` is the share of the questions that is answered, `risk` the share of these that have
    no answer.
    """

    threshold: float
    coverage: float
    risk: float


@dataclass(frozen=True, slots=True)
class RefusalCurve:
    """Risk by coverage, from the strictest threshold to answering everything.

    `area` is that under the curve, 0 to 1, where less is better; `least_area` is what a perfect
    order of the same questions would have.
    """

    points: tuple[CurvePoint, ...]
    area: float
    least_area: float


def refusal_scores(refused: Sequence[bool], answerable: Sequence[bool]) -> RefusalScores:
    """Compare which questions were refused with which can be answered.

    f1 = 2 TP / (2 TP + FP + FN), which is 0 where nothing was refused that should have been. Raises
    UsageError for an empty set and for unequal lengths.

    >>> refusal_scores([True, True, False], [False, True, True])
    ... # doctest: +NORMALIZE_WHITESPACE
    RefusalScores(precision=0.5, recall=1.0, f1=0.6666666666666666, false_refusals=0.5,
                  answerable=2, unanswerable=1)
    """
    _check(refused, answerable)
    pairs = list(zip(refused, answerable, strict=True))
    right = sum(no and not can for no, can in pairs)
    wrong = sum(no and can for no, can in pairs)
    can_be = sum(answerable)
    cannot = len(pairs) - can_be
    return RefusalScores(
        precision=_share(right, right + wrong),
        recall=_share(right, cannot),
        f1=_share(2 * right, right + wrong + cannot),
        false_refusals=_share(wrong, can_be),
        answerable=can_be,
        unanswerable=cannot,
    )


def refusal_curve(confidence: Sequence[float], answerable: Sequence[bool]) -> RefusalCurve:
    """Draw the risk-coverage curve of refusing below a confidence, and its area.

    The area is the mean, over n = 1 ... N answered questions, most confident first, of the share of
    these that have no answer; questions of equal confidence count as in a random order. Raises
    UsageError for an empty set, unequal lengths and a confidence that is not a number. Source:
    El-Yaniv and Wiener 2010, https://jmlr.org/papers/v11/el-yaniv10a.html; the area as in Geifman
    and El-Yaniv 2019, https://arxiv.org/abs/1805.08206.

    >>> round(refusal_curve([0.9, 0.8, 0.1], [True, False, True]).area, 4)  # (0 + 1/2 + 1/3) / 3
    0.2778
    """
    _check(confidence, answerable)
    for number, value in enumerate(confidence):
        if math.isnan(value):
            raise UsageError(f"the confidence of question {number + 1} is not a number: give one")
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
        raise UsageError("no question was asked, so no refusal can be judged: give at least one")


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
