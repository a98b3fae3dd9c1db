"""A passage longer than a model reads: the parts it is scored in, and the best part's score.

Dai and Callan 2019 (arXiv:1905.09217) call it MaxP. It knows nothing of models.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ragkit.types import Span


def parts(passage: str, spans: Sequence[Span], limit: int) -> list[str]:
    """Cut a passage after every `limit` tokens; nothing of it is left out.

    >>> parts("one two three", [Span(0, 3), Span(4, 7), Span(8, 13)], 2)
    ['one two ', 'three']
    """
    starts = [spans[n].start for n in range(limit, len(spans), limit)]
    return [passage[a:b] for a, b in pairwise([0, *starts, len(passage)])]


def best(scores: Sequence[float], counts: Sequence[int]) -> list[float]:
    """Return the best score of each passage; `counts` says how many parts each has.

    >>> best([1.0, 3.0, 2.0], [2, 1])
    [3.0, 2.0]
    """
    found: list[float] = []
    first = 0
    for count in counts:
        found.append(max(scores[first : first + count]))
        first += count
    return found
