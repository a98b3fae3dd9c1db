"""What a search says about whether its passages answer: two signals, and a cut-off on them.

Signals come from scores and words; it knows neither the store nor how a cut-off was fitted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragkit.answer.question import Question, terms
from ragkit.types import Hit

SIGNALS = ("cosine", "share")

# Where nobody has calibrated, a language model is asked unless both signals are this low: 0.33% of
# CLAPNQ's and 0.25% of CMRC 2018's questions are refused wrongly, 71% of Cranfield's asked of
# CLAPNQ and 97% of them asked of CMRC rightly (5 passages, all-MiniLM-L6-v2). A model whose cosines
# are all high leaves this gate open.
LOW_COSINE = 0.35
LOW_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Signals:
    """The best cosine, and the most that one passage holds of the question's idf, both 0 to 1.

    None: the dense leg was not asked, or the question has no content word.
    """

    cosine: float | None
    share: float | None

    @property
    def are_low(self) -> bool:
        """Tell whether neither meaning nor words speak for the passages."""
        cosine = 0.0 if self.cosine is None else self.cosine
        return self.share is not None and self.share < LOW_SHARE and cosine < LOW_COSINE


def signals(question: Question, hits: Sequence[Hit], weights: Mapping[str, float]) -> Signals:
    """Read the signals of a question's passages; `weights` has the idf of its content terms."""
    cosines = [hit.scores["dense"] for hit in hits if "dense" in hit.scores]
    whole = math.fsum(weights[term] for term in question.content)
    shares = (
        math.fsum(weights[term] for term in question.content & holds(hit)) / whole
        for hit in (hits if whole else ())
    )
    return Signals(max(cosines, default=None), max(shares, default=None))


def holds(hit: Hit) -> frozenset[str]:
    """List the terms of a passage, its title and its headings."""
    return terms(" ".join((hit.text, hit.title, *hit.headings)))


@dataclass(frozen=True, slots=True)
class Cutoff:
    """A logistic regression on the signals, and the score below which a question is refused.

    score = 1 / (1 + exp(-(bias + sum of weight (signal - mean)))): the probability of an answer,
    if questions come as they came to the fit. A signal that is None counts as its mean.
    """

    bias: float
    weights: tuple[float, ...]
    means: tuple[float, ...]
    threshold: float

    def score(self, found: Signals) -> float:
        """Return the score of a question's signals, 0 to 1."""
        values = (found.cosine, found.share)
        logit = self.bias + math.fsum(
            weight * (value - mean)
            for weight, value, mean in zip(self.weights, values, self.means, strict=True)
            if value is not None
        )
        return 1 / (1 + math.exp(-logit)) if logit > -700 else 0.0

    def refuses(self, found: Signals) -> bool:
        """Tell whether the score is below the threshold."""
        return self.score(found) < self.threshold
