"""A cut-off on signals: a logistic regression, and the score below which a question is refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

SIGNALS = ("cosine", "share", "words")
RERANKED = ("rerank",)  # a reranker's score alone, so that it means the same for each passage


class Signals(Protocol):
    """What speaks for an answer, by name."""

    def of(self, names: Sequence[str]) -> list[float | None]:
        """List the signals of these names; None for one that is missing."""
        ...


@dataclass(frozen=True, slots=True)
class Cutoff:
    """A logistic regression on the signals, and the score below which a question is refused.

    score = 1 / (1 + exp(-(bias + sum of weight (signal - mean)))): the probability of an answer,
    if questions come in the fit's proportions. A signal that is None counts as its mean.
    """

    bias: float
    weights: tuple[float, ...]
    means: tuple[float, ...]
    threshold: float
    signals: tuple[str, ...] = SIGNALS

    def score(self, signals: Signals) -> float:
        """Return the score of a question's signals, 0 to 1."""
        values = signals.of(self.signals)
        logit = self.bias + math.fsum(
            weight * (value - mean)
            for weight, value, mean in zip(self.weights, values, self.means, strict=True)
            if value is not None
        )
        return 1 / (1 + math.exp(-logit)) if logit > -700 else 0.0

    def refuses(self, signals: Signals) -> bool:
        """Tell whether the score is below the threshold."""
        return self.score(signals) < self.threshold

    @property
    def least(self) -> float | None:
        """The reranker's score that the threshold stands for: a passage below it is refused.

        None where the cut-off is not on such a score, or where a higher score is no better sign.
        """
        if self.signals != RERANKED or self.weights[0] <= 0:
            return None
        if not 0 < self.threshold < 1:
            return math.copysign(math.inf, self.threshold - 0.5)
        logit = math.log(self.threshold / (1 - self.threshold))
        return self.means[0] + (logit - self.bias) / self.weights[0]
