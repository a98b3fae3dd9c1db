"""A text metric made of a function of one item, and for some metrics a score of the set.

It checks predictions and references, so that the functions need not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from ragkit.errors import UsageError
from ragkit_eval.metrics.corpus_statistics import CorpusScore


@dataclass(frozen=True, slots=True)
class FunctionMetric:
    """A TextMetric made of functions; without `of_corpus` a set scores the mean of its items."""

    name: str
    signature: str
    score: Callable[[str, Sequence[str]], float]
    of_corpus: CorpusScore | None = None

    def item(self, prediction: str, references: Sequence[str]) -> float:
        """Score a prediction against its references. Raises UsageError without a reference."""
        self._check(references, "the item")
        return self.score(prediction, references)

    def corpus(self, predictions: Sequence[str], references: Sequence[Sequence[str]]) -> float:
        """Score a set. Raises UsageError for an empty set and unequal lengths."""
        if len(predictions) != len(references):
            raise UsageError(
                f"{self.name}: {len(predictions)} predictions but {len(references)} items of "
                "references: give the references of each prediction, in the same order"
            )
        if not predictions:
            raise UsageError(f"{self.name}: an empty set has no score: give at least one item")
        for number, texts in enumerate(references, 1):
            self._check(texts, f"item {number}")
        if self.of_corpus is not None:
            return self.of_corpus.of(predictions, references)
        return fmean(self.score(p, r) for p, r in zip(predictions, references, strict=True))

    def _check(self, references: Sequence[str], which: str) -> None:
        if isinstance(references, str) or not references:
            raise UsageError(
                f"{self.name}: {which} has no list of references: give one or more, as a list"
            )
