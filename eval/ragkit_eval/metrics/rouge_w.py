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
    prints: it weighs the reference's length twice, f(f(m)), so that even identical texts have a
    recall under 1, and it weighs runs of the reference's words even where they are apart in the
    prediction. Raises UsageError for a weight outside 1 to 8 and without a reference. Source: Lin
    2004, section 4, https://aclanthology.org/W04-1013.

    >>> reference = "A B C D E F G"
    >>> [round(rouge_w(p, reference, weight=2).f, 3) for p in ("A B C D H I K", "A H B K C I D")]
    [0.571, 0.286]
    """
    if not 1 <= weight <= _MAX_WEIGHT:
        raise UsageError(f"the weight of ROUGE-W is {weight}: it must be 1 to {_MAX_WEIGHT}")
    texts = (references,) if isinstance(references, str) else references
    prediction_words = rouge_words(prediction, stem=stem)
    overlaps = []
    for text in texts:
        reference_words = rouge_words(text, stem=stem)
        weigh = _weighted_as_printed if original else _weighted
        hits = weigh(reference_words, prediction_words, weight)
        length = len(reference_words) ** weight
        overlaps.append(
            Overlap(hits, length**weight if original else length, len(prediction_words) ** weight)
        )
    return over_references(overlaps, several, partial(_score, weight=weight))


def signature(
    *, weight: float = WEIGHT, stem: bool = False, several: Several = "best", original: bool = False
) -> str:
    """Return the options that the values depend on."""
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
    """Return the paper's table of WLCS: a row of 0, then a row for each word of the reference.

    The step to a run of k words is worth f(k) - f(k - 1).
    """
    longest = min(len(reference), len(prediction))
    gain = [0.0] + [(k + 1) ** weight - k**weight for k in range(longest)]
    rows, runs = [[0.0] * (len(prediction) + 1)], [0] * (len(prediction) + 1)
    for word in reference:
        above, row, runs_above, runs = rows[-1], [0.0], runs, [0]
        for j, predicted in enumerate(prediction):
            run = runs_above[j] + 1 if predicted == word else 0
            best = above[j] + gain[run] if run else max(above[j + 1], row[j])
            row.append(best)
            runs.append(run)
        rows.append(row)
    return rows


def _weighted_as_printed(
    reference: Sequence[str], prediction: Sequence[str], weight: float
) -> float:
    """Weigh only the runs that the subsequence makes in the reference, as ROUGE-1.5.5 does.

    It traces the table back to the matched words of the reference.
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
    for place, following in zip(places, [-1, *places], strict=False):  # from the last place on
        run = run + 1 if place + 1 == following else 1
        total += run**weight - (run - 1) ** weight
    return total
