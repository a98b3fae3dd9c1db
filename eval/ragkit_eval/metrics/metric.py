"""The contract of text metrics: a name, a signature, a value per item and one for the set.

Values are 0 to 1, higher is better, also where publications print per cent.
"""

from collections.abc import Sequence
from typing import Protocol

from ragkit_eval.metrics.corpus_statistics import CorpusScore


class TextMetric(Protocol):
    """Compares a prediction with references."""

    @property
    def name(self) -> str:
        """Return the name that chooses it."""
        ...

    @property
    def signature(self) -> str:
        """Return the settings that its values depend on, as `name|key:value|...|v:1`."""
        ...

    @property
    def of_corpus(self) -> CorpusScore | None:
        """Return the score of a set that is a function of sums; None for a mean of items."""
        ...

    def item(self, prediction: str, references: Sequence[str]) -> float:
        """Score a prediction against its references. Raises UsageError without a reference."""
        ...

    def corpus(self, predictions: Sequence[str], references: Sequence[Sequence[str]]) -> float:
        """Score a set: the mean of the items, unless the metric is defined otherwise.

        Raises UsageError for an empty set and for unequal lengths.
        """
        ...
