"""Fit the weights of `ragkit.answer.check.claim_signals` on the half that is not reported.

`python -m benchmarks.prose_fit` fits those by words and those of each model that is here.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from benchmarks import weighted_logistic
from benchmarks.prose import WORDS, embedders
from benchmarks.prose_set import LANGUAGES, WRITTEN, Claimed, claims
from benchmarks.weighted_logistic import alike
from ragkit.answer.check.claim_signals import (
    THRESHOLD,
    Signals,
    Weights,
    choose_candidates,
    claim_signals,
)
from ragkit.answer.check.cosines import cosines
from ragkit.answer.check.sentence import PreparedSentence
from ragkit.answer.check.support import Evidence
from ragkit.answer.meaning import READ

if TYPE_CHECKING:
    from ragkit.contracts import Embedder

RIDGE = 3.0  # on standardised signals
OF_WRITTEN = 2.0  # as much as the made ones count, which are more
_BATCH = 64  # sentences embedded at once
NAMES = [field.name for field in fields(Signals)]


def main() -> None:
    for name, embedder in ((WORDS, None), *embedders().items()):
        print(name, flush=True)
        fitted = [c for language in LANGUAGES for c in claims(language) if c.half == 0]
        if embedder is not None:
            fitted = [c for c in fitted if embedder.reads(c.text) >= READ]
        read = signals_of(fitted, embedder)
        weights = fit(read, fitted)
        print(weights)
        _report(weights, read, fitted)


def signals_of(sentences: list[Claimed], embedder: Embedder | None) -> list[Signals]:
    """Read the signals of sentences, each beside its passage."""
    sources: dict[str, Evidence] = {}
    stated = [
        (PreparedSentence(c.text), [sources.setdefault(c.passage, Evidence([c.passage]))])
        for c in sentences
    ]
    chosen = [choose_candidates(claim, evidence) for claim, evidence in stated]
    pairs = [
        (claim.text, [sentence.text for sentence in some])
        for (claim, _), some in zip(stated, chosen, strict=True)
    ]
    near: list[list[float]] = [[] for _ in pairs]
    if embedder is not None:
        near = [
            row
            for start in range(0, len(pairs), _BATCH)
            for row in cosines(embedder, pairs[start : start + _BATCH])
        ]
    return [
        claim_signals(claim, evidence, some, values)
        for (claim, evidence), some, values in zip(stated, chosen, near, strict=True)
    ]


def fit(read: list[Signals], sentences: list[Claimed]) -> Weights:
    """Fit a logistic regression with a ridge, by Newton's method.

    True and false sentences of each set and language count alike.
    """
    import numpy as np

    x = np.array([[float(getattr(s, name) or 0.0) for name in NAMES] for s in read])
    y = np.array([float(c.is_true) for c in sentences])
    share = alike([(c.origin, c.language, c.is_true) for c in sentences])
    share *= np.array([OF_WRITTEN if c.origin == WRITTEN else 1.0 for c in sentences])
    bias, weights = weighted_logistic.fit(x, y, share, ridge=RIDGE)
    by_name = dict(zip(NAMES, (round(weight, 2) for weight in weights), strict=True))
    return Weights(bias=round(bias, 2), **by_name)


def _report(weights: Weights, read: list[Signals], sentences: list[Claimed]) -> None:
    """Print what thresholds do on the half that was fitted on, where one may be chosen."""
    for least in (0.35, 0.4, THRESHOLD, 0.5):
        shares = []
        for origin, language in sorted({(c.origin, c.language) for c in sentences}):
            for true in (True, False):
                some = [
                    weights.probability(s) >= least
                    for s, c in zip(read, sentences, strict=True)
                    if (c.origin, c.language, c.is_true) == (origin, language, true)
                ]
                if some:
                    shares.append(f"{origin} {language} {true}: {sum(some) / len(some):.3f}")
        print(f"  from {least}: {', '.join(shares)}", flush=True)


if __name__ == "__main__":
    main()
