"""ROUGE-W: the longest common subsequence, weighted so that words in a row count for more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from ragkit.errors import UsageError
from ragkit_eval.metrics.rouge import (
    Overlap,
    Rouge,
    Several,
    Words,
    balanced,
    over_references,
    rouge_lines,
    rouge_signature,
    rouge_words,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Row = list[float] | NDArray[np.float64]

WEIGHT = 1.2  # the value of the paper's experiments and of every published figure
_MAX_SHORT: Final = 128  # words of the prediction, up to which lists are faster than arrays
_MAX_CELLS: Final = (
    400_000_000  # two texts of 20,000 words; ROUGE-1.5.5's tracing keeps a byte of each
)
_MAX_WEIGHT = 8  # arbitrary: with it, 40,000 words weighted twice are still finite


def rouge_w(
    prediction: str,
    references: str | Sequence[str],
    *,
    weight: float = WEIGHT,
    stem: bool = False,
    several: Several = "best",
    original: bool = False,
) -> Rouge:
    """Score the weighted longest common subsequence; a run of k words counts k ** weight.

    Line ends do not matter. With f(k) = k ** weight: R = f^-1(WLCS / f(m)) for a reference of m
    words, P likewise for the prediction, F = 2PR/(P+R). `original` computes what ROUGE-1.5.5
    prints: it takes the union of hits of each line of the reference, weighs the reference's length
    twice, f(sum of f(m) over its lines), so that even identical texts have a recall under 1, and it
    weighs runs of the reference's words even where they are apart in the prediction. Raises
    UsageError for a weight outside 1 to 8, without a reference, and for texts too long. Source: Lin
    2004, section 4, https://aclanthology.org/W04-1013.

    >>> reference = "A B C D E F G"
    >>> [round(rouge_w(p, reference, weight=2).f, 3) for p in ("A B C D H I K", "A H B K C I D")]
    [0.571, 0.286]
    """
    if not 1 <= weight <= _MAX_WEIGHT:
        raise UsageError(f"the weight of ROUGE-W is {weight}: it must be 1 to {_MAX_WEIGHT}")
    texts = (references,) if isinstance(references, str) else references
    overlaps = []
    if original:
        prediction_lines = rouge_lines(prediction, stem=stem)
        for text in texts:
            overlaps.append(_by_lines(prediction_lines, rouge_lines(text, stem=stem), weight))
    else:
        prediction_words = rouge_words(prediction, stem=stem)
        for text in texts:
            words = rouge_words(text, stem=stem)
            hits = _weighted(words, prediction_words, weight)
            overlaps.append(Overlap(hits, len(words) ** weight, len(prediction_words) ** weight))
    return over_references(overlaps, several, partial(_score, weight=weight))


def signature(
    *, weight: float = WEIGHT, stem: bool = False, several: Several = "best", original: bool = False
) -> str:
    """Return the options that the values depend on."""
    details = f"|weight:{weight:g}|as:{'1.5.5-by-lines' if original else 'paper'}"
    return rouge_signature("rouge-w", stem=stem, several=several, details=details)


def _score(overlap: Overlap, *, weight: float) -> Rouge:
    if not overlap.hits:
        return Rouge(0.0, 0.0, 0.0)
    precision = (overlap.hits / overlap.prediction) ** (1 / weight)
    return balanced(precision, (overlap.hits / overlap.reference) ** (1 / weight))


def _by_lines(prediction: Sequence[Words], reference: Sequence[Words], weight: float) -> Overlap:
    """Weigh what ROUGE-1.5.5 does: in each line of the reference, the union of its hits.

    A hit is a word of the subsequence with any line of the prediction; it counts as long as both
    texts have more of that word. A run of hits is weighed where it ends with one that counts; one
    that ends with a word that does not count goes on with the next run of the line.
    """
    unmatched = Counter(word for line in prediction for word in line)
    unmatched_reference = Counter(word for line in reference for word in line)
    predicted, hits, base = unmatched.total(), 0.0, 0.0
    for line in reference:
        base += float(len(line) ** weight)
        union = set().union(*(_places(line, other, weight) for other in prediction))
        run = 0
        for place in sorted(union):
            word = line[place]
            if not (unmatched[word] and unmatched_reference[word]):
                continue
            unmatched[word] -= 1
            unmatched_reference[word] -= 1
            run += 1
            if place + 1 not in union:
                hits += run**weight
                run = 0
    return Overlap(hits, base**weight, predicted**weight)


def _places(reference: Words, prediction: Words, weight: float) -> set[int]:
    """Return the places, in the reference, of the subsequence that ROUGE-1.5.5 traces back."""
    from_above = []
    above: Row = [0.0] * (len(prediction) + 1)
    for row in _rows(reference, prediction, weight):
        from_above.append(_are_from_above(above, row))
        above = row
    places = set()
    i, j = len(reference), len(prediction)
    while i and j:
        if reference[i - 1] == prediction[j - 1]:
            i, j = i - 1, j - 1
            places.add(i)
        elif from_above[i - 1][j - 1]:
            i -= 1
        else:
            j -= 1
    return places


def _are_from_above(above: Row, row: Row) -> bytes:
    """Tell of each word of the prediction whether the value above is at least the one before."""
    if isinstance(row, list):
        return bytes(up >= left for up, left in zip(above[1:], row, strict=False))
    values: bytes = (above[1:] >= row[:-1]).tobytes()
    return values


def _weighted(reference: Words, prediction: Words, weight: float) -> float:
    last = 0.0
    for row in _rows(reference, prediction, weight):
        last = float(row[-1])
    return last


def _rows(reference: Words, prediction: Words, weight: float) -> Iterator[Row]:
    """Yield the paper's table of WLCS, a row for each word of the reference.

    The step to a run of k words is worth f(k) - f(k - 1). Raises UsageError for texts whose table
    would take minutes.
    """
    if len(reference) * len(prediction) > _MAX_CELLS:
        raise UsageError(
            f"ROUGE-W of texts of {len(reference):,} and {len(prediction):,} words would take"
            f" minutes: up to {_MAX_CELLS:,} pairs of words are compared; shorten the texts, or use"
            " rouge-l"
        )
    longest = min(len(reference), len(prediction))
    gain = [0.0] + [(k + 1) ** weight - k**weight for k in range(longest)]
    if len(prediction) > _MAX_SHORT:
        yield from _rows_of_long(reference, prediction, gain)
        return
    row, runs = [0.0] * (len(prediction) + 1), [0] * (len(prediction) + 1)
    for word in reference:
        above, row, runs_above, runs = row, [0.0], runs, [0]
        for j, predicted in enumerate(prediction):
            run = runs_above[j] + 1 if predicted == word else 0
            best = above[j] + gain[run] if run else max(above[j + 1], row[j])
            row.append(best)
            runs.append(run)
        yield row


def _rows_of_long(reference: Words, prediction: Words, gain: Sequence[float]) -> Iterator[Row]:
    """Yield the rows as arrays: between two matches, a row is the running maximum of that above."""
    import numpy as np

    places: dict[str, list[int]] = {}
    for place, word in enumerate(prediction):
        places.setdefault(word, []).append(place)
    row = np.zeros(len(prediction) + 1)
    runs: dict[int, int] = {}
    for word in reference:
        above, row, runs_above, runs = row, row.copy(), runs, {}
        start = 0
        for place in places.get(word, ()):
            np.maximum.accumulate(row[start : place + 1], out=row[start : place + 1])
            runs[place] = runs_above.get(place - 1, 0) + 1
            start = place + 1
            row[start] = above[place] + gain[runs[place]]
        np.maximum.accumulate(row[start:], out=row[start:])
        yield row
