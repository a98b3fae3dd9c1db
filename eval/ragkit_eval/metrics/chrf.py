"""chrF: character n-grams, counted by sacreBLEU; the same for every script."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ragkit.errors import UsageError
from ragkit_eval.metrics.corpus_statistics import CorpusScore, count_items, number_of_references
from ragkit_eval.metrics.references import check_references

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sacrebleu.metrics.chrf import CHRF

    Floats = NDArray[np.float64]

_BETA: Final = 2


def chrf(
    predictions: Sequence[str], references: Sequence[Sequence[str]], *, word_order: int = 0
) -> float:
    """Score a corpus by character n-grams of orders 1 to 6, counted over all items.

    chrF = (1 + 4) * chrP * chrR / (4 * chrP + chrR) over the orders' mean precision and recall,
    without white space. `word_order=2` adds word uni- and bigrams (chrF++). Raises UsageError for
    an empty corpus and unequal lengths. Source: Popović 2015,
    https://aclanthology.org/W15-3049.

    >>> round(chrf(["the cat sat"], [["the cat sits"]]), 4)
    0.6103
    """
    return corpus_chrf(word_order).of(predictions, references)


def sentence_chrf(prediction: str, references: Sequence[str], *, word_order: int = 0) -> float:
    """Score a text by its best reference. Two empty texts score 0."""
    check_references(references, "chrF")
    score = _scorer(word_order).sentence_score(prediction, list(references))
    return min(float(score.score) / 100, 1.0)


def corpus_chrf(word_order: int = 0) -> CorpusScore:
    """Return chrF of a set as a function of summed counts.

    Each item has three of each order: n-grams of the prediction, of its best reference, of both.
    """
    return CorpusScore(
        count=lambda predictions, references: count_items(
            lambda prediction, texts: _scorer(word_order), predictions, references, "chrF"
        ),
        score=_score,
        describe=lambda predictions, references: _signature(
            word_order, f"nrefs:{number_of_references(references)}|"
        ),
    )


def signature(*, word_order: int = 0) -> str:
    """Return the options and the version that the values depend on."""
    return _signature(word_order)


def _signature(word_order: int, references: str = "") -> str:
    import sacrebleu

    return (
        f"chrf{'++' if word_order else ''}|{references}nc:6|nw:{word_order}|beta:{_BETA}|case:mixed"
        f"|space:no|sacrebleu:{sacrebleu.__version__}|v:1"
    )


def _score(sums: Floats) -> Floats:
    """Return chrF of summed counts; shapes (sets, 3 * orders) to (sets,).

    Orders that prediction or references are too short for do not count.
    """
    import numpy as np

    predicted, expected, matched = sums[:, 0::3], sums[:, 1::3], sums[:, 2::3]
    counted = (predicted > 0) & (expected > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        orders = counted.sum(axis=1)
        precision = np.where(counted, matched / predicted, 0).sum(axis=1) / orders
        recall = np.where(counted, matched / expected, 0).sum(axis=1) / orders
        score = (1 + _BETA**2) * precision * recall / (_BETA**2 * precision + recall)
    values: Floats = np.minimum(np.nan_to_num(score, nan=0.0), 1.0)
    return values


@lru_cache(maxsize=4)
def _scorer(word_order: int) -> CHRF:
    from sacrebleu.metrics.chrf import CHRF

    if word_order < 0:
        raise UsageError(f"the word order of chrF is {word_order}: it must be 0 or more")
    return CHRF(word_order=word_order, beta=_BETA)
