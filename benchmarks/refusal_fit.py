"""Fit the constants of `ragkit.answer.cutoff` on the half that is not reported, and print them.

`python -m benchmarks.refusal_fit` fits those of the default model: for questions and passages of
one language and of two, with and without the cosine of the best sentence. Each set and answer
counts alike. A bias is shifted so that QUOTED_FROM refuses MOST of the answerable questions of the
set that it refuses most of.
"""

from __future__ import annotations

import math
from dataclasses import replace

from benchmarks.refusal import Measured, measure
from benchmarks.weighted_logistic import alike, fit
from ragkit.answer.cutoff import ASKED_FROM, QUOTED_FROM, Cutoff

RIDGE = 1.0
MOST = {True: 0.03, False: 0.10}  # of the answerable, by whether the languages are the same
SIGNALS = {  # with and without the best sentence's cosine
    True: (("cosine", "share"), ("share", "sentence", "words")),
    False: (("cosine",), ("cosine", "sentence")),
}


def main() -> None:
    measured = [one for one in measure() if one.half == 0]
    for same, choices in SIGNALS.items():
        for names in choices:
            some = [
                one
                for one in measured
                if (one.signals.languages[0] == one.signals.languages[1]) == same
                and None not in one.signals.of(names)
            ]
            cutoff = _fit(some, names, MOST[same])
            print("one language" if same else "two languages", names, _rounded(cutoff), flush=True)
            _report(cutoff, some)


def _fit(some: list[Measured], names: tuple[str, ...], most: float) -> Cutoff:
    import numpy as np

    x = np.array([one.signals.of(names) for one in some], dtype=np.float64)
    y = np.array([float(one.answerable) for one in some])
    share = alike([(one.set, one.answerable) for one in some])
    bias, weights = fit(x, y, share, ridge=RIDGE)
    cutoff = Cutoff(bias, tuple(weights), (0.0,) * len(names), 0.5, names)
    least = min(_least(cutoff, good, most) for good in _answerable(some))
    shift = _logit(QUOTED_FROM) - _logit(least)
    return replace(cutoff, bias=bias + shift)


def _answerable(some: list[Measured]) -> list[list[Measured]]:
    names = sorted({one.set for one in some})
    return [[one for one in some if one.set == name and one.answerable] for name in names]


def _least(cutoff: Cutoff, good: list[Measured], most: float) -> float:
    """Return the score below which this share of the answerable questions is refused."""
    return sorted(cutoff.score(one.signals) for one in good)[int(most * len(good))]


def _logit(probability: float) -> float:
    return math.log(probability / (1 - probability))


def _rounded(cutoff: Cutoff) -> tuple[float, tuple[float, ...]]:
    return round(cutoff.bias, 1), tuple(round(weight, 2) for weight in cutoff.weights)


def _report(cutoff: Cutoff, some: list[Measured]) -> None:
    for name in sorted({one.set for one in some}):
        for answerable in (True, False):
            scores = [
                cutoff.score(one.signals)
                for one in some
                if (one.set, one.answerable) == (name, answerable)
            ]
            if scores:
                told = [
                    f"{sum(score < least for score in scores) / len(scores):.1%} below {least:g}"
                    for least in (QUOTED_FROM, ASKED_FROM)
                ]
                kind = "answerable" if answerable else "others"
                print(f"  {name}, {len(scores)} {kind}: {', '.join(told)}", flush=True)


if __name__ == "__main__":
    main()
