"""TER by sacreBLEU's counts, as 1 - TER, so that higher is better as in every metric here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING

from ragkit_eval.metrics.corpus_statistics import CorpusScore, count_items, number_of_references
from ragkit_eval.metrics.words import is_chinese

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sacrebleu.metrics.ter import TER

    Floats = NDArray[np.float64]


def ter(predictions: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Return TER of a corpus: edits by words of the references; 0 is best, over 1 is possible.

    Edits insert, delete or replace a word, or move a run of words; each item has the fewest edits
    to any of its references, and the references' mean length. Case does not matter. Words stand
    between spaces, punctuation with them, as sacreBLEU has it; of an item that holds a Chinese
    character, each Chinese character and mark is a word (sacreBLEU's options normalized and
    asian_support). Raises UsageError for an empty corpus and unequal lengths. Source: Snover et al.
    2006, https://aclanthology.org/2006.amta-papers.25.

    >>> ter(["the cat sat down"], [["the cat sat"]]).__round__(4)
    0.3333
    """
    return 1 - corpus_ter().of(predictions, references)


def corpus_ter() -> CorpusScore:
    """Return 1 - TER of a set as a function of summed counts: edits and words of the references."""
    return CorpusScore(
        count=lambda predictions, references: count_items(
            lambda prediction, texts: _scorer(is_chinese(prediction, *texts)),
            predictions,
            references,
            "TER",
        ),
        score=_score,
        describe=lambda predictions, references: signature(
            f"nrefs:{number_of_references(references)}|"
        ),
        bounds=(-inf, 1.0),
    )


def signature(references: str = "") -> str:
    """Return the options and the version that the values depend on."""
    import sacrebleu

    return (
        f"1-ter|{references}case:lower|norm:chinese-items|punct:yes|asian:chinese-items"
        f"|sacrebleu:{sacrebleu.__version__}|v:1"
    )


def _score(sums: Floats) -> Floats:
    """Return 1 - TER of summed counts; shapes (sets, 2) to (sets,). Without words it is 0 or 1."""
    import numpy as np

    edits, words = sums[:, 0], sums[:, 1]
    rate: Floats = np.where(words > 0, edits / np.maximum(words, 1e-300), (edits > 0) * 1.0)
    return 1 - rate


@lru_cache(maxsize=2)
def _scorer(chinese: bool) -> TER:
    from sacrebleu.metrics.ter import TER

    return TER(normalized=chinese, asian_support=chinese)
