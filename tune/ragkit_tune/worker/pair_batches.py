"""How many rows a step can have, and the negatives that rows of pairs get.

It needs the standard library alone, and no other worker's module: the plan counts by it the steps
that the worker will make.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

SEES_BATCH: Final = ("mnrl", "cached-mnrl", "gist")  # losses in which rows are others' negatives
_ANSWERS: Final = (8, 7, 6, 5, 4, 3, 2)  # of GRPO to a prompt: 8 as TRL, fewer where it must be
_ORDERS: Final = 5  # in which rows are tried to see how many fill a batch; arbitrary

Row = Mapping[str, Any]


def shared_batch(batch: int, rows: int, gpus: int) -> int:
    """Return the rows of a step: as set, but no more than there are, and equally many a GPU.

    >>> shared_batch(32, 183, 1), shared_batch(32, 9, 2), shared_batch(32, 1, 2)
    (32, 8, 0)
    """
    return min(batch, rows) // gpus * gpus


def steps_of(epochs: float, rows: int, batch: int) -> int:
    """Return the steps of so many epochs, one at least.

    >>> steps_of(3.0, 183, 9), steps_of(0.1, 20, 16)
    (61, 1)
    """
    return max(1, round(epochs * rows / batch))


def answers_each(batch: int) -> int:
    """Return how many answers GRPO draws to a prompt: a divisor of the batch of answers, or 0.

    >>> answers_each(32), answers_each(9), answers_each(11)
    (8, 3, 0)
    """
    return next((count for count in _ANSWERS if batch % count == 0), 0)


def negatives_of_most(rows: Sequence[Row], count: int) -> int:
    """Return how many negatives rows get: `count`, or as many as half of them have."""
    return min(count, sorted(len(row["negatives"]) for row in rows)[len(rows) // 2])


def with_negatives(rows: Sequence[Row], count: int, seed: int) -> list[dict[str, Any]]:
    """Give each row `count` negatives: its own first, then positives of other groups, drawn.

    Rows with a teacher's scores keep what they have.
    """
    draw = random.Random(seed)  # noqa: S311  no secret
    positives = positives_of(rows)
    filled = []
    for row in rows:
        negatives = list(row["negatives"][:count])
        if not row.get("scores"):
            for _ in range(20 * count):
                if len(negatives) == count:
                    break
                other = draw.choice(rows)
                if (
                    other.get("group", other["id"]) != row.get("group", row["id"])
                    and other["positive"] not in negatives
                    and other["positive"] not in positives[row["query"]]
                ):
                    negatives.append(other["positive"])
        filled.append({**row, "negatives": negatives})
    least = min(len(row["negatives"]) for row in filled)
    scores = [list(row.get("scores") or [])[: least + 1] for row in filled]
    return [
        {**row, "negatives": row["negatives"][:least], "scores": score}
        for row, score in zip(filled, scores, strict=True)
    ]


def positives_of(rows: Iterable[Row]) -> dict[str, set[str]]:
    """Return the passages that answer each query, over all its rows."""
    positives: dict[str, set[str]] = {}
    for row in rows:
        positives.setdefault(row["query"], set()).add(row["positive"])
    return positives


def separate_batches(rows: Sequence[Row], order: Iterable[int], size: int) -> Iterator[list[int]]:
    """Cut an order of rows into batches of `size` in which no row is another's false negative.

    No text stands in a batch twice, and none beside a query that it answers by any of the rows. A
    row that does not fit into a batch waits for the next. Rows that fill no batch are left over.
    """
    positives = positives_of(rows)
    waiting = deque(order)
    while len(batch := _next_batch(rows, positives, waiting, size)) == size:
        yield batch


def different_rows(rows: Sequence[Row], size: int) -> int:
    """Return how many rows, `size` at most, a batch gets in the worst of some orders."""
    positives = positives_of(rows)
    draw = random.Random(0)  # noqa: S311  no secret
    orders = [draw.sample(range(len(rows)), len(rows)) for _ in range(_ORDERS)]
    return min(len(_next_batch(rows, positives, deque(order), size)) for order in orders)


def _next_batch(
    rows: Sequence[Row], positives: Mapping[str, set[str]], waiting: deque[int], size: int
) -> list[int]:
    """Take rows for a batch from those that wait; the others keep their order."""
    batch: list[int] = []
    deferred: list[int] = []
    texts: set[str] = set()
    answers: set[str] = set()
    while waiting and len(batch) < size:
        number = waiting.popleft()
        row = rows[number]
        row_texts = {row["query"], row["positive"], *row["negatives"]}
        row_answers = positives[row["query"]]
        if row_texts & (texts | answers) or row_answers & texts:
            deferred.append(number)
            continue
        batch.append(number)
        texts |= row_texts
        answers |= row_answers
    waiting.extendleft(reversed(deferred))
    return batch
