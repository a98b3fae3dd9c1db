"""ROUGE-W: the longest common subsequence, weighted so that words in a row count for more."""

from collections.abc import Sequence
from functools import partial

from ragkit.errors import UsageError
from ragkit_eval.metrics.rouge import (
    Overlap,
    Rouge,
    Several,
    balanced,
    over_references,
    rouge_signature,
    rouge_words,
)

WEIGHT = 1.2  # the value of the paper's experiments and of every published figure
_MOST_WEIGHT = 8  # arbitrary: with it lengths of 40,000 words still are numbers, taken twice


def rouge_w(
    prediction: str,
    references: str | Sequence[str],
    *,
    weight: float = WEIGHT,
    stem: bool = False,
    several: Several = "best",
    original: bool = False,
) -> Rouge:
    """Score the weighted longest common subsequence, a run of k words counting k ** weight.

    Lines are not told apart. With f(k) = k ** weight: R = f^-1(WLCS / f(m)) for a reference of m
    words, P likewise for the prediction, F = 2PR/(P+R). `original` computes what ROUGE-1.5.5
    prints: it weighs the reference's length twice, f(f(m)), so that even identical texts have a
    recall under 1, and it weighs runs of the reference's words whether or not they stand together
    in the prediction. Raises UsageError for a weight not from 1 to 8 and without one. Source: Lin
    2004, section 4, https://aclanthology.org/W04-1013.

    >>> reference = "A B C D E F G"
    >>> [round(rouge_w(p, reference, weight=2).f, 3) for p in ("A B C D H I K", "A H B K C I D")]
    [0.571, 0.286]
    """
    if not 1 <= weight <= _MOST_WEIGHT:
        raise UsageError(
            f"ROUGE-W with weight {weight} makes no sense: it is from 1 to {_MOST_WEIGHT}"
        )
    texts = (references,) if isinstance(references, str) else references
    own = rouge_words(prediction, stem=stem)
    overlaps = []
    for text in texts:
        theirs = rouge_words(text, stem=stem)
        found = _weighted_as_printed if original else _weighted
        hits = found(theirs, own, weight)
        length = len(theirs) ** weight
        overlaps.append(Overlap(hits, length**weight if original else length, len(own) ** weight))
    return over_references(overlaps, several, partial(_score, weight=weight))


def signature(
    *, weight: float = WEIGHT, stem: bool = False, several: Several = "best", original: bool = False
) -> str:
    """Return all that the values depend on."""
    details = f"|weight:{weight:g}|as:{'1.5.5' if original else 'paper'}"
    return rouge_signature("rouge-w", stem=stem, several=several, details=details)


def _score(overlap: Overlap, *, weight: float) -> Rouge:
    if not overlap.hits:
        return Rouge(0.0, 0.0, 0.0)
    precision = (overlap.hits / overlap.prediction) ** (1 / weight)
    return balanced(precision, (overlap.hits / overlap.reference) ** (1 / weight))


def _weighted(reference: Sequence[str], prediction: Sequence[str], weight: float) -> float:
    return _table(reference, prediction, weight)[-1][-1]


def _table(reference: Sequence[str], prediction: Sequence[str], weight: float) -> list[list[float]]:
    """Return the paper's table of WLCS, one row for each word of the reference after a row of 0.

    The step to a run of k words is worth f(k) - f(k - 1).
    """
    longest = min(len(reference), len(prediction))
    gain = [0.0] + [(k + 1) ** weight - k**weight for k in range(longest)]
    rows, runs = [[0.0] * (len(prediction) + 1)], [0] * (len(prediction) + 1)
    for word in reference:
        above, row, runs_above, runs = rows[-1], [0.0], runs, [0]
        for j, own in enumerate(prediction):
            run = runs_above[j] + 1 if own == word else 0
            best = above[j] + gain[run] if run else max(above[j + 1], row[j])
            row.append(best)
            runs.append(run)
        rows.append(row)
    return rows


def _weighted_as_printed(
    reference: Sequence[str], prediction: Sequence[str], weight: float
) -> float:
    """Weigh the runs that the subsequence found makes in the reference alone, as ROUGE-1.5.5 does.

    It traces the table back to the words of the reference that were hit and forgets the rest.
    """
    rows, places = _table(reference, prediction, weight), []
    i, j = len(reference), len(prediction)
    while i and j:
        if reference[i - 1] == prediction[j - 1]:
            i, j = i - 1, j - 1
            places.append(i)
        elif rows[i - 1][j] >= rows[i][j - 1]:
            i -= 1
        else:
            j -= 1
    total, run = 0.0, 0
    for place, after in zip(places, [-1, *places], strict=False):  # from the last place on
        run = run + 1 if place + 1 == after else 1
        total += run**weight - (run - 1) ** weight
    return total
