"""Recall, precision and overlap of retrieved and labelled excerpts, counted in characters.

An excerpt is (document, start, end), so that labels do not depend on chunks.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from ragkit.errors import UsageError
from ragkit_eval.sets.values import Excerpt


@dataclass(frozen=True, slots=True)
class SpanScores:
    """The overlap of retrieved and labelled excerpts; all 0 to 1."""

    recall: float
    precision: float
    iou: float


def span_scores(
    labels: Sequence[Excerpt], retrieved: Sequence[Excerpt], *, repeated: bool = False
) -> SpanScores:
    """Compare the characters of retrieved excerpts with those of labelled excerpts.

    With L and F as sets of characters: recall = |L ∩ F| / |L|, precision = |L ∩ F| / |F|, and
    iou = |L ∩ F| / |L ∪ F|. Excerpts may overlap; each character counts once. Without a retrieved
    excerpt the scores are 0. With `repeated` a character counts in |F| as often as it was retrieved
    (|L ∪ F| is then that |F| and the missing labelled characters), so that overlapping chunks cost
    precision. Chroma's chunking_evaluation computes the same, except that it counts overlapping
    labels twice in |L|, and its "precision omega", which depends only on the chunks.
    Raises UsageError without a label, and for an excerpt that is empty or begins before 0.
    Source: Smith and Troynikov 2024, https://research.trychroma.com/evaluating-chunking.

    >>> span_scores([Excerpt("a", 0, 4)], [Excerpt("a", 2, 8), Excerpt("b", 0, 2)])
    SpanScores(recall=0.5, precision=0.25, iou=0.2)
    """
    if not labels:
        raise UsageError(
            "the question has no labelled excerpt: label one, or leave the question out"
        )
    for excerpt in chain(labels, retrieved):
        if not 0 <= excerpt.start < excerpt.end:
            raise UsageError(
                f"{excerpt.start}-{excerpt.end} of {excerpt.document!r} is not an excerpt: "
                "it must begin at 0 or later and end after its start"
            )
    labelled_chars, retrieved_chars = _chars(labels), _chars(retrieved)
    shared = labelled_chars + retrieved_chars - _chars([*labels, *retrieved])
    if repeated:
        retrieved_chars = sum(excerpt.end - excerpt.start for excerpt in retrieved)
    precision = shared / retrieved_chars if retrieved_chars else 0.0
    return SpanScores(
        shared / labelled_chars, precision, shared / (labelled_chars + retrieved_chars - shared)
    )


def _chars(excerpts: Iterable[Excerpt]) -> int:
    """Count the characters of a union."""
    count, document, reached = 0, "", 0
    for excerpt in sorted(excerpts, key=lambda excerpt: (excerpt.document, excerpt.start)):
        if excerpt.document != document:
            document, reached = excerpt.document, 0
        count += max(0, excerpt.end - max(excerpt.start, reached))
        reached = max(reached, excerpt.end)
    return count
