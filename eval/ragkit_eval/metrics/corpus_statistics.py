"""What sacreBLEU counts in each item, so that a score of the set can be resampled.

BLEU, chrF and TER are functions of sums over all items, and not means of the items' own scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragkit.errors import UsageError
from ragkit_eval.metrics.references import check_references

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sacrebleu.metrics.base import Metric

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CorpusScore:
    """A score of a set as a function of summed counts.

    `count` maps predictions and their references to counts of shape (items, columns); `score` maps
    sums of shape (sets, columns) to (sets,), 0 to 1, but for TER, which may be negative.
    `describe` writes a signature that names the number of references and the tokenizer that were
    used. `bounds` are the lowest and highest possible score.
    """

    count: Callable[[Sequence[str], Sequence[Sequence[str]]], Floats]
    score: Callable[[Floats], Floats]
    describe: Callable[[Sequence[str], Sequence[Sequence[str]]], str]
    bounds: tuple[float, float] = (0.0, 1.0)

    def of(self, predictions: Sequence[str], references: Sequence[Sequence[str]]) -> float:
        """Score a set. Raises UsageError for an empty set and unequal lengths."""
        return float(self.score(self.count(predictions, references).sum(0)[None])[0])


def count_items(
    scorer_for: Callable[[str, Sequence[str]], Metric],
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    name: str,
) -> Floats:
    """Count each item by the scorer for its texts; shape (items, columns), sacreBLEU's order.

    Raises UsageError for an empty set, for unequal lengths, and for an item without references.
    """
    import numpy as np

    if not predictions or len(predictions) != len(references):
        raise UsageError(
            f"{name} of {len(predictions)} predictions and {len(references)} items of references: "
            "give the references of each prediction, and at least one prediction"
        )
    counts = []
    for prediction, texts in zip(predictions, references, strict=True):
        check_references(texts, name)
        scorer: Any = scorer_for(prediction, texts)
        counts += scorer._extract_corpus_statistics([prediction], [[text] for text in texts])
    return np.asarray(counts, dtype=np.float64)


def number_of_references(references: Sequence[Sequence[str]]) -> str:
    """Return the number of references of every item, "var" where it differs, as sacreBLEU does.

    >>> number_of_references([["a"], ["b", "c"]])
    'var'
    """
    numbers = {len(texts) for texts in references}
    return str(numbers.pop()) if len(numbers) == 1 else "var"
