"""A metric made of a function over one item, and of another over the whole where it differs.

It checks what it is given, so that the functions need not; it knows nothing of any formula.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from ragkit.errors import UsageError


@dataclass(frozen=True, slots=True)
class FunctionMetric:
    """A TextMetric out of functions; `whole` is None where the mean of the items is meant."""

    name: str
    signature: str
    score: Callable[[str, Sequence[str]], float]
    whole: Callable[[Sequence[str], Sequence[Sequence[str]]], float] | None = None

    def item(self, prediction: str, references: Sequence[str]) -> float:
        """Score one prediction against one or more references. Raises UsageError without any."""
        self._check(references, "the item")
        return self.score(prediction, references)

    def corpus(self, predictions: Sequence[str], references: Sequence[Sequence[str]]) -> float:
        """Score a whole set. Raises UsageError when it is empty or of unequal lengths."""
        if len(predictions) != len(references):
            raise UsageError(
                f"{self.name}: {len(predictions)} predictions but {len(references)} items of "
                "references: give the references of each prediction, in the same order"
            )
        if not predictions:
            raise UsageError(f"{self.name}: an empty set has no score: give at least one item")
        for number, one in enumerate(references, 1):
            self._check(one, f"item {number}")
        if self.whole is not None:
            return self.whole(predictions, references)
        return fmean(self.score(p, r) for p, r in zip(predictions, references, strict=True))

    def _check(self, references: Sequence[str], which: str) -> None:
        if isinstance(references, str) or not references:
            raise UsageError(
                f"{self.name}: {which} has no list of references: give one or more, as a list"
            )
