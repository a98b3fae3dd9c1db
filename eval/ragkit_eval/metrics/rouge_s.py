"""ROUGE-S and ROUGE-SU: pairs of words in their order, with gaps; SU counts single words too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from ragkit.errors import UsageError
from ragkit_eval.metrics.rouge import (
    Overlap,
    Rouge,
    Several,
    Words,
    over_references,
    rouge_signature,
    rouge_words,
)
from ragkit_eval.metrics.rouge_n import shared

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

_CACHED_COUNTS = 64
_MAX_FEW = 50_000  # pairs; some 6 MB; a text of 3,000 words has 4.5 million


def rouge_s(
    prediction: str,
    references: str | Sequence[str],
    *,
    skip: int | None = None,
    unigrams: bool = False,
    stem: bool = False,
    several: Several = "best",
    original: bool = False,
) -> Rouge:
    """Score shared skip-bigrams: pairs of words with at most `skip` words between them.

    `skip=None` allows any distance; `unigrams` makes it ROUGE-SU. R = shared / pairs of the
    reference, P = shared / pairs of the prediction, F = 2PR/(P+R). ROUGE-S gives 0.0 to a text of
    one word, even against itself. `original` computes the SU that ROUGE-1.5.5 prints, whose single
    words exclude the last word of each text. Raises UsageError for a negative skip and
    without a reference. Source: Lin 2004, section 5, https://aclanthology.org/W04-1013.

    >>> rouge_s("police kill the gunman", "police killed the gunman").f
    0.5
    """
    if skip is not None and skip < 0:
        raise UsageError(f"the gap of ROUGE-S is {skip} words: it must be 0 or more")
    texts = (references,) if isinstance(references, str) else references
    singles = 0 if not unigrams else -1 if original else 1
    prediction_words = rouge_words(prediction, stem=stem)
    overlaps = []
    for text in texts:
        words = rouge_words(text, stem=stem)
        few = max(_pair_count(words, skip), _pair_count(prediction_words, skip)) <= _MAX_FEW
        overlap = (_overlap_of_few if few else _overlap_of_many)(prediction_words, words, skip)
        overlaps.append(_with_singles(overlap, prediction_words, words, singles))
    return over_references(overlaps, several)


def signature(
    *,
    skip: int | None = None,
    unigrams: bool = False,
    stem: bool = False,
    several: Several = "best",
    original: bool = False,
) -> str:
    """Return the options that the values depend on."""
    name = f"rouge-{'su' if unigrams else 's'}"
    details = f"|skip:{'any' if skip is None else skip}|as:{'1.5.5' if original else 'paper'}"
    return rouge_signature(name, stem=stem, several=several, details=details)


def _with_singles(overlap: Overlap, prediction: Words, reference: Words, singles: int) -> Overlap:
    """Add the single words to an overlap: none (0), all (1), or all but the last (-1)."""
    if not singles:
        return overlap
    predicted, expected = (
        Counter(words if singles > 0 else words[:-1]) for words in (prediction, reference)
    )
    return Overlap(
        overlap.hits + (predicted & expected).total(),
        overlap.reference + expected.total(),
        overlap.prediction + predicted.total(),
    )


def _pair_count(words: Words, skip: int | None) -> int:
    """Count the pairs of words with at most `skip` words between them.

    >>> _pair_count(("a", "b", "c", "d"), None), _pair_count(("a", "b", "c", "d"), 1)
    (6, 5)
    """
    count = len(words)
    reach = count - 1 if skip is None else min(skip + 1, count - 1)
    return max(0, reach * count - reach * (reach + 1) // 2)


def _overlap_of_few(prediction: Words, reference: Words, skip: int | None) -> Overlap:
    hits = shared(_pairs(prediction, skip), _pairs(reference, skip))
    return Overlap(hits, _pair_count(reference, skip), _pair_count(prediction, skip))


@lru_cache(maxsize=_CACHED_COUNTS)
def _pairs(words: Words, skip: int | None) -> Counter[object]:
    counts: Counter[object] = Counter()
    for distance in range(1, len(words) if skip is None else min(skip + 2, len(words))):
        counts.update(zip(words, words[distance:], strict=False))
    return counts


def _overlap_of_many(prediction: Words, reference: Words, skip: int | None) -> Overlap:
    """Count the pairs that begin with each shared word in turn, which takes little memory.

    The time is that of the words of a text times the distinct words that both have.
    """
    import numpy as np

    numbers: dict[str, int] = {}
    predicted, expected = (
        np.array([numbers.setdefault(word, len(numbers)) for word in words])
        for words in (prediction, reference)
    )
    hits = 0
    for word in np.intersect1d(predicted, expected):
        firsts, seconds = (
            _pairs_of(words, word, skip, len(numbers)) for words in (predicted, expected)
        )
        hits += int(np.minimum(firsts, seconds).sum())
    return Overlap(hits, _pair_count(reference, skip), _pair_count(prediction, skip))


def _pairs_of(words: Integers, first: int, skip: int | None, distinct: int) -> Floats:
    """Count the pairs of a first word with each second word; shape (distinct,)."""
    import numpy as np

    so_far = np.concatenate([[0], np.cumsum(words == first)])  # before each place
    before = so_far[:-1].copy()
    if skip is not None and skip + 1 < len(words):
        before[skip + 1 :] -= so_far[: len(words) - skip - 1]
    weights = before.astype(np.float64)
    counts: Floats = np.asarray(np.bincount(words, weights, distinct), dtype=np.float64)
    return counts
