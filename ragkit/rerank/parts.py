"""Score a passage that is longer than the model's limit in parts, and take the best part's score.

Dai and Callan 2019 (arXiv:1905.09217) call it MaxP.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

from ragkit.embed.local import batches
from ragkit.embed.tokens import Tokens
from ragkit.system.cancellation import check_cancelled
from ragkit.types import Span

# Padded tokens per batch. On CPUs a wider one is no faster and pads more: 20 passages of unlike
# lengths took a seventh longer with 2048, pairs of about one length as long. The figure for GPUs
# is arbitrary: enough to fill one, little memory.
_CPU_BATCH_TOKENS: Final = 1024
_GPU_BATCH_TOKENS: Final = 65536


def batch_budget(device: str) -> int:
    """Choose how many padded tokens a batch has on a torch device such as "cpu" or "cuda:1"."""
    return _CPU_BATCH_TOKENS if device == "cpu" else _GPU_BATCH_TOKENS


def score_in_parts(
    passages: Sequence[str],
    tokens: Tokens,
    score: Callable[[list[str]], Sequence[float]],
    *,
    room: int,
    query_tokens: int,
    batch_tokens: int,
) -> list[float]:
    """Score passages by their best parts of `room` tokens, in batches of a token budget by length.

    `score` takes texts and gives a number for each; `query_tokens` stand with each text.
    """
    cut = [parts(text, tokens.spans(text), room) for text in passages]
    pieces = [part for of_one in cut for part in of_one]
    lengths = [query_tokens + len(tokens.spans(piece)) for piece in pieces]
    scores = [0.0] * len(pieces)
    for batch in batches(lengths, batch_tokens):
        check_cancelled()
        values = score([pieces[index] for index in batch])
        for index, value in zip(batch, values, strict=True):
            scores[index] = float(value)
    return best(scores, [len(of_one) for of_one in cut])


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
    highest: list[float] = []
    first = 0
    for count in counts:
        highest.append(max(scores[first : first + count]))
        first += count
    return highest
