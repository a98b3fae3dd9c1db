"""What a search says about whether its passages answer: signals, and a cut-off on them.

Signals come from scores and words; it knows neither the store nor how a cut-off was fitted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragkit.answer.question import Question, terms
from ragkit.types import Hit

SIGNALS = ("cosine", "share")
RERANKED = ("rerank",)  # of a reranker its score alone, so that it means the same for each passage

# Where nobody has calibrated, a language model is asked unless both signals are this low: 0.33% of
# CLAPNQ's and 0.25% of CMRC 2018's questions are refused wrongly, 71% of Cranfield's asked of
# CLAPNQ and 97% of them asked of CMRC rightly (5 passages, all-MiniLM-L6-v2). A model whose cosines
# are all high leaves this gate open.
LOW_COSINE = 0.35
LOW_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Signals:
    """The best cosine, and the most that one passage holds of the question's idf, both 0 to 1;
    and the best score of a reranker.

    None: the dense leg was not asked, the question has no content word, nothing was reranked.
    """

    cosine: float | None
    share: float | None
    rerank: float | None = None

    def of(self, names: Sequence[str]) -> list[float | None]:
        """List the signals of these names, all of SIGNALS or RERANKED."""
        values = {"cosine": self.cosine, "share": self.share, "rerank": self.rerank}
        return [values[name] for name in names]

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
    reranked = [hit.scores["rerank"] for hit in hits if "rerank" in hit.scores]
    return Signals(
        max(cosines, default=None), max(shares, default=None), max(reranked, default=None)
    )


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
    signals: tuple[str, ...] = SIGNALS

    def score(self, found: Signals) -> float:
        """Return the score of a question's signals, 0 to 1."""
        values = found.of(self.signals)
        logit = self.bias + math.fsum(
            weight * (value - mean)
            for weight, value, mean in zip(self.weights, values, self.means, strict=True)
            if value is not None
        )
        return 1 / (1 + math.exp(-logit)) if logit > -700 else 0.0

    def refuses(self, found: Signals) -> bool:
        """Tell whether the score is below the threshold."""
        return self.score(found) < self.threshold

    @property
    def least(self) -> float | None:
        """The reranker's score that the threshold stands for: a passage below it is refused.

        None where the cut-off is not on such a score, or a higher one is no better sign.
        """
        if self.signals != RERANKED or self.weights[0] <= 0:
            return None
        if not 0 < self.threshold < 1:
            return math.copysign(math.inf, self.threshold - 0.5)
        logit = math.log(self.threshold / (1 - self.threshold))
        return self.means[0] + (logit - self.bias) / self.weights[0]
