"""How many rows of pairs a step can have, and the negatives that each row gets.

It needs the standard library alone, and no other worker's module: the plan counts by it the steps
that the worker will make.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

SEES_BATCH: Final = ("mnrl", "cached-mnrl", "gist")  # losses in which rows are others' negatives

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


def different_rows(rows: Sequence[Row]) -> int:
    """Estimate how many rows a batch can have without a text twice in it."""
    negatives = len(rows[0]["negatives"])
    queries = {row["query"] for row in rows}
    texts = {text for row in rows for text in (row["positive"], *row["negatives"])}
    # Rows are drawn in any order: where each has several texts, no batch comes near to all texts.
    room = len(texts) // (2 * (1 + negatives)) if negatives else len(texts)
    return max(1, min(len(queries), room))
