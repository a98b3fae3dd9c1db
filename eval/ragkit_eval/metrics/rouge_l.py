"""ROUGE-L and ROUGE-Lsum: the longest common subsequence of words, of a text or line by line."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from ragkit_eval.metrics.rouge import (
    Overlap,
    Rouge,
    Several,
    Words,
    over_references,
    rouge_lines,
    rouge_signature,
    rouge_words,
)

_CACHED_MASKS = 256


def rouge_l(
    prediction: str,
    references: str | Sequence[str],
    *,
    stem: bool = False,
    several: Several = "best",
) -> Rouge:
    """Score the longest common subsequence of the words of both texts, regardless of lines.

    R = LCS / words of the reference, P = LCS / words of the prediction, F = 2PR/(P+R). Equals
    ROUGE-1.5.5 on ASCII text of one line. Raises UsageError without a reference. Source: Lin 2004,
    section 3.1, https://aclanthology.org/W04-1013.

    >>> rouge_l("police kill the gunman", "police killed the gunman").f
    0.75
    """
    texts = (references,) if isinstance(references, str) else references
    prediction_words = rouge_words(prediction, stem=stem)
    overlaps = []
    for text in texts:
        reference_words = rouge_words(text, stem=stem)
        overlaps.append(
            Overlap(
                lcs_length(prediction_words, reference_words),
                len(reference_words),
                len(prediction_words),
            )
        )
    return over_references(overlaps, several)


def rouge_lsum(
    prediction: str,
    references: str | Sequence[str],
    *,
    stem: bool = False,
    several: Several = "best",
) -> Rouge:
    """Score, for each line of the reference, the union of its LCS with each line of the prediction.

    Each sentence is a line, as in ROUGE-1.5.5's input; a word counts at most as often as it is in
    either text. For texts of one line it is ROUGE-L. Raises UsageError without a reference.
    Source: Lin 2004, section 3.2, https://aclanthology.org/W04-1013, equation 10.

    >>> rouge_lsum("w1 w2 w6 w7 w8\\nw1 w3 w8 w9 w5", "w1 w2 w3 w4 w5").recall
    0.8
    """
    texts = (references,) if isinstance(references, str) else references
    prediction_lines = rouge_lines(prediction, stem=stem)
    return over_references(
        [_union(prediction_lines, rouge_lines(text, stem=stem)) for text in texts], several
    )


def signature(*, lines: bool = False, stem: bool = False, several: Several = "best") -> str:
    """Return the options that the values depend on; `lines` is for ROUGE-Lsum."""
    return rouge_signature("rouge-lsum" if lines else "rouge-l", stem=stem, several=several)


def lcs_length(a: Words, b: Words) -> int:
    """Return the length of the longest common subsequence.

    A row of the usual table is the bits of an integer. Source: Hyyrö 2004, Bit-parallel
    LCS-length computation revisited.

    >>> lcs_length(tuple("ABCBDAB"), tuple("BDCABA"))
    4
    """
    full = (1 << len(b)) - 1
    masks, row = _masks(b), full
    for word in a:
        mask = masks.get(word)
        if mask is not None:
            matches = row & mask
            row = ((row + matches) | (row - matches)) & full
    return len(b) - row.bit_count()


@lru_cache(maxsize=_CACHED_MASKS)
def _masks(words: Words) -> dict[str, int]:
    masks: dict[str, int] = {}
    for place, word in enumerate(words):
        masks[word] = masks.get(word, 0) | (1 << place)
    return masks


def _union(prediction: Sequence[Words], reference: Sequence[Words]) -> Overlap:
    unmatched = Counter(word for line in prediction for word in line)
    unmatched_reference = Counter(word for line in reference for word in line)
    predicted, referred, hits = unmatched.total(), unmatched_reference.total(), 0
    for line in reference:
        union = set().union(*(_places(line, prediction_line) for prediction_line in prediction))
        for place in sorted(union):
            word = line[place]
            if unmatched[word] > 0 and unmatched_reference[word] > 0:
                hits += 1
                unmatched[word] -= 1
                unmatched_reference[word] -= 1
    return Overlap(hits, referred, predicted)


def _places(reference: Words, prediction: Words) -> set[int]:
    """Return the places, in the reference, of the last longest common subsequence.

    Bit j of row i is clear where the table grows from column j to j + 1.
    """
    full = (1 << len(prediction)) - 1
    masks, rows = _masks(prediction), [full]
    for word in reference:
        matches = rows[-1] & masks.get(word, 0)
        rows.append(((rows[-1] + matches) | (rows[-1] - matches)) & full)

    def length(i: int, j: int) -> int:
        return j - (rows[i] & ((1 << j) - 1)).bit_count()

    places: set[int] = set()
    i, j = len(reference), len(prediction)
    while i and j:
        if reference[i - 1] == prediction[j - 1]:
            i, j = i - 1, j - 1
            places.add(i)
        elif length(i, j - 1) > length(i - 1, j):
            j -= 1
        else:
            i -= 1
    return places
