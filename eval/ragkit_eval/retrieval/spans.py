"""Recall, precision and overlap of what was found with labelled places, counted in characters.

A place is (document, start, end), so that labels survive re-chunking. Knows neither texts nor
chunks.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from ragkit.errors import UsageError
from ragkit_eval.sets.values import Excerpt


@dataclass(frozen=True, slots=True)
class SpanScores:
    """How far the found places cover the labelled ones; all 0 to 1."""

    recall: float
    precision: float
    iou: float


def span_scores(
    labels: Sequence[Excerpt], found: Sequence[Excerpt], *, repeated: bool = False
) -> SpanScores:
    """Compare the characters of the found places with those of the labelled ones.

    With L and F as sets of characters: recall = |L ∩ F| / |L|, precision = |L ∩ F| / |F|, and
    iou = |L ∩ F| / |L ∪ F|. Places may overlap; each character counts once. Nothing found scores 0.
    With `repeated` a character counts in |F| as often as it was found (|L ∪ F| is then that |F| and
    the labelled characters that were not found), so that overlapping chunks cost precision: this is
    what Chroma's chunking_evaluation computes, apart from labels that overlap one another, which
    it counts twice in |L|, and from "precision omega", which looks at the chunks alone.
    Raises UsageError without a label, and for a place that is empty or begins before 0.
    Source: Smith and Troynikov 2024, https://research.trychroma.com/evaluating-chunking.

    >>> span_scores([Excerpt("a", 0, 4)], [Excerpt("a", 2, 8), Excerpt("b", 0, 2)])
    SpanScores(recall=0.5, precision=0.25, iou=0.2)
    """
    if not labels:
        raise UsageError("no place is labelled, so nothing can be recalled: leave the question out")
    for place in chain(labels, found):
        if not 0 <= place.start < place.end:
            raise UsageError(
                f"{place.start}-{place.end} of {place.document!r} is no place in a document: "
                "it begins at 0 or later and ends after its start"
            )
    wanted, whole = _chars(labels), _chars(found)
    both = wanted + whole - _chars([*labels, *found])
    if repeated:
        whole = sum(place.end - place.start for place in found)
    precision = both / whole if whole else 0.0
    return SpanScores(both / wanted, precision, both / (wanted + whole - both))


def _chars(places: Iterable[Excerpt]) -> int:
    """Count the characters of a union."""
    count, document, reached = 0, "", 0
    for place in sorted(places, key=lambda place: (place.document, place.start)):
        if place.document != document:
            document, reached = place.document, 0
        count += max(0, place.end - max(place.start, reached))
        reached = max(reached, place.end)
    return count
