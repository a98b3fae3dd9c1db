"""Fit the constants of `ragkit.answer.refuse.cutoff` on the half that is not reported.

`python -m benchmarks.refusal_fit` fits those of the default model: for the question's own language
and for the other, on passages and on quoted sentences. Each set and answer counts alike, but the
everyday questions, which are not copied from a text, EVERYDAY times where the language is the
question's own. An own cut-off is fitted on questions about documents in their language, the other
one on questions about the other and on all that have no answer. A bias is shifted so that
QUOTED_FROM refuses MOST of the answerable questions: of the set that it refuses most of, or of all
about documents in the other language that the own cut-off refuses as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.refusal import Measured, measure
from benchmarks.weighted_logistic import alike, fit
from ragkit.answer.refuse.cutoff import ASKED_FROM, QUOTED_FROM
from ragkit.stats.cutoff import Cutoff

RIDGE = 1.0
EVERYDAY = 10
MOST, MOST_OTHER = 0.03, 0.10
CHOICES = (  # signals of the question's own language, and of the other
    (("passage", "share"), ("other_passage",)),
    (("share", "sentence"), ("other_sentence",)),
)


def main() -> None:
    measured = [one for one in measure() if one.half == 0]
    for own_names, other_names in CHOICES:
        some = [one for one in measured if not _is_across(one) and _is_nearer(one, own_names)]
        own = _fit(some, own_names, everyday=EVERYDAY)
        own = _shifted(own, min(_least(own, good, MOST) for good in _answerable(some)))
        _report(own, some)
        some = [
            one
            for one in measured
            if (_is_across(one) or not one.answerable) and None not in one.signals.of(other_names)
        ]
        other = _fit(some, other_names)
        good = [one for one in some if one.answerable]
        most = MOST_OTHER * len([one for one in measured if one.answerable and _is_across(one)])
        good = [one for one in good if own.score(one.signals) < QUOTED_FROM]
        other = _shifted(other, _least(other, good, most / len(good)))
        _report(other, some)


def _is_across(one: Measured) -> bool:
    return " about " in one.set


def _is_nearer(one: Measured, names: Sequence[str]) -> bool:
    """Tell whether the signals are known and the question's own language is what they are of."""
    signals = one.signals
    if None in signals.of(names):
        return False
    if "sentence" in names:
        return signals.other_sentence is None
    return (signals.other_passage or 0.0) <= (signals.passage or 0.0)


def _fit(some: Sequence[Measured], names: tuple[str, ...], *, everyday: float = 1) -> Cutoff:
    import numpy as np

    x = np.array([one.signals.of(names) for one in some], dtype=np.float64)
    y = np.array([float(one.answerable) for one in some])
    share = alike([(one.set, one.answerable) for one in some])
    share = share * [everyday if one.set.startswith("everyday") else 1 for one in some]
    bias, weights = fit(x, y, share / share.mean(), ridge=RIDGE)
    return Cutoff(bias, tuple(weights), (0.0,) * len(names), 0.5, names)


def _shifted(cutoff: Cutoff, least: float) -> Cutoff:
    """Return a cut-off that refuses what scores less than this at QUOTED_FROM."""
    return replace(cutoff, bias=cutoff.bias + _logit(QUOTED_FROM) - _logit(least))


def _answerable(some: Sequence[Measured]) -> list[list[Measured]]:
    names = sorted({one.set for one in some})
    return [[one for one in some if one.set == name and one.answerable] for name in names]


def _least(cutoff: Cutoff, good: Sequence[Measured], most: float) -> float:
    """Return the score below which this share of the answerable questions is refused."""
    return sorted(cutoff.score(one.signals) for one in good)[int(most * len(good))]


def _logit(probability: float) -> float:
    return math.log(probability / (1 - probability))


def _rounded(cutoff: Cutoff) -> tuple[float, tuple[float, ...]]:
    return round(cutoff.bias, 1), tuple(round(weight, 2) for weight in cutoff.weights)


def _report(cutoff: Cutoff, some: Sequence[Measured]) -> None:
    print(cutoff.signals, _rounded(cutoff), flush=True)
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
