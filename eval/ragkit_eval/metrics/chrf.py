"""chrF: character n-grams, counted by sacreBLEU; the same for every script."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from ragkit.errors import UsageError
from ragkit_eval.metrics.bleu import by_place
from ragkit_eval.metrics.references import check_references

if TYPE_CHECKING:
    from sacrebleu.metrics.chrf import CHRF


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
    if not predictions or len(predictions) != len(references):
        raise UsageError(
            f"chrF of {len(predictions)} predictions and {len(references)} items of references: "
            "give the references of each prediction, and at least one prediction"
        )
    for texts in references:
        check_references(texts, "chrF")
    score = _scorer(word_order).corpus_score(list(predictions), by_place(references))
    return min(float(score.score) / 100, 1.0)


def sentence_chrf(prediction: str, references: Sequence[str], *, word_order: int = 0) -> float:
    """Score a text by its best reference. Two empty texts score 0."""
    check_references(references, "chrF")
    score = _scorer(word_order).sentence_score(prediction, list(references))
    return min(float(score.score) / 100, 1.0)


def signature(*, word_order: int = 0) -> str:
    """Return the options and the version that the values depend on."""
    import sacrebleu

    return (
        f"chrf{'++' if word_order else ''}|nc:6|nw:{word_order}|beta:2|case:mixed|space:no|"
        f"sacrebleu:{sacrebleu.__version__}|v:1"
    )


@lru_cache(maxsize=4)
def _scorer(word_order: int) -> CHRF:
    from sacrebleu.metrics.chrf import CHRF

    if word_order < 0:
        raise UsageError(f"the word order of chrF is {word_order}: it must be 0 or more")
    return CHRF(word_order=word_order)
