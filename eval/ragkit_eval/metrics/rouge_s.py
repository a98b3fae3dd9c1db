"""ROUGE-S and ROUGE-SU: pairs of words in their order, with gaps; SU counts single words too."""

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
from ragkit_eval.metrics.rouge_n import shared

_CACHED_COUNTS = 64
_MAX_CACHED_PAIRS = 50_000  # some 6 MB; a text of 3,000 words has 4.5 million pairs


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
    prediction_pairs = _pairs(prediction, skip, singles, stem)
    overlaps = []
    for text in texts:
        reference_pairs = _pairs(text, skip, singles, stem)
        overlaps.append(
            Overlap(
                shared(prediction_pairs, reference_pairs),
                reference_pairs.total(),
                prediction_pairs.total(),
            )
        )
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


def _pairs(text: str, skip: int | None, singles: int, stem: bool) -> Counter[object]:
    """Count the pairs and the single words: none (0), all (1), or all but the last (-1).

    Counts of long texts are not cached: those of a set would fill the memory.
    """
    words = rouge_words(text, stem=stem)
    pair_count = len(words) * (len(words) // 2 if skip is None else skip + 1)
    return (_cached_pairs if pair_count <= _MAX_CACHED_PAIRS else _count_pairs)(
        words, skip, singles
    )


def _count_pairs(words: tuple[str, ...], skip: int | None, singles: int) -> Counter[object]:
    counts: Counter[object] = Counter()
    for distance in range(1, len(words) if skip is None else min(skip + 2, len(words))):
        counts.update(zip(words, words[distance:], strict=False))
    if singles:
        counts.update(words if singles > 0 else words[:-1])
    return counts


_cached_pairs = lru_cache(maxsize=_CACHED_COUNTS)(_count_pairs)
