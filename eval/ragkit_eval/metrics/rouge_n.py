"""ROUGE-N: n-grams shared by a prediction and its references."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from ragkit.errors import UsageError
from ragkit_eval.metrics.rouge import (
    Overlap,
    Rouge,
    Several,
    over_references,
    rouge_signature,
    rouge_words,
)

_CACHED_COUNTS = 256


def rouge_n(
    prediction: str,
    references: str | Sequence[str],
    *,
    n: int = 1,
    stem: bool = False,
    several: Several = "best",
) -> Rouge:
    """Score shared n-grams, each counted at most as often as either text has it.

    R = shared / n-grams of the reference, P = shared / n-grams of the prediction, F = 2PR/(P+R). A
    text of fewer than n words has no n-gram and scores 0.0, even against itself. Equals
    ROUGE-1.5.5 on ASCII text (with `several="pool"` for more than one reference). Raises UsageError
    for n < 1 and without a reference. Source: Lin 2004, https://aclanthology.org/W04-1013.

    >>> rouge_n("the cat sat", "the cat ran away", n=2)
    Rouge(precision=0.5, recall=0.3333333333333333, f=0.4)
    """
    if n < 1:
        raise UsageError(f"there is no ROUGE-{n}: n must be 1 or more")
    texts = (references,) if isinstance(references, str) else references
    prediction_counts = _ngrams(prediction, n, stem)
    overlaps = [_overlap(prediction_counts, _ngrams(text, n, stem)) for text in texts]
    return over_references(overlaps, several)


def signature(*, n: int, stem: bool = False, several: Several = "best") -> str:
    """Return the options that the values depend on."""
    return rouge_signature(f"rouge-{n}", stem=stem, several=several)


def shared(a: Counter[object], b: Counter[object]) -> int:
    """Count the units that two bags share, each as often as the bag with fewer of it."""
    return sum([min(a[unit], b[unit]) for unit in a.keys() & b.keys()])


@lru_cache(maxsize=_CACHED_COUNTS)
def _ngrams(text: str, n: int, stem: bool) -> Counter[object]:
    words = rouge_words(text, stem=stem)
    return Counter(words if n == 1 else zip(*(words[i:] for i in range(n)), strict=False))


def _overlap(prediction: Counter[object], reference: Counter[object]) -> Overlap:
    return Overlap(shared(prediction, reference), reference.total(), prediction.total())
