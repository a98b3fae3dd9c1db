"""Split a labelled set into two halves, to choose with and to confirm on, by cluster."""

import hashlib
from dataclasses import replace

from ragkit.errors import UsageError
from ragkit_eval.sets import LabelledSet, Question


def halves(labelled: LabelledSet, *, seed: int) -> tuple[LabelledSet, LabelledSet]:
    """Split by cluster, in an order given by a hash of seed and cluster.

    Each cluster goes to the smaller half, so that their sizes differ by no more than the largest
    cluster. The halves do not depend on the order of the questions. Raises UsageError for fewer
    than two clusters in each half.
    """
    clusters: dict[str, list[Question]] = {}
    for question in labelled.questions:
        clusters.setdefault(question.cluster, []).append(question)
    if len(clusters) < 4:
        raise UsageError(
            f"{labelled.name} has {len(clusters)} independent groups of questions, and two for each"
            " half are needed: label more questions, about more documents"
        )
    sides: tuple[set[str], set[str]] = (set(), set())
    sizes = [0, 0]
    for name in sorted(clusters, key=lambda name: _digest(f"{seed}:{name}")):
        side = 0 if sizes[0] <= sizes[1] else 1
        sides[side].add(name)
        sizes[side] += len(clusters[name])
    first, second = (
        replace(labelled, questions=tuple(q for q in labelled.questions if q.cluster in side))
        for side in sides
    )
    return first, second


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
