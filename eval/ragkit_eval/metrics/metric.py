"""What a metric of texts is: a name, a signature, a value per item and one for the whole.

Values are 0 to 1, higher is better, also where the field prints per cent.
"""

from collections.abc import Sequence
from typing import Protocol


class TextMetric(Protocol):
    """Compares a prediction with references."""

    @property
    def name(self) -> str:
        """Return the name it is chosen by."""
        ...

    @property
    def signature(self) -> str:
        """Return everything that its values depend on, as `name|key:value|...|v:1`."""
        ...

    def item(self, prediction: str, references: Sequence[str]) -> float:
        """Score one prediction against one or more references. Raises UsageError without any."""
        ...

    def corpus(self, predictions: Sequence[str], references: Sequence[Sequence[str]]) -> float:
        """Score a whole set: the mean of the items, unless the metric is defined otherwise.

        Raises UsageError for an empty set and for unequal lengths.
        """
        ...
