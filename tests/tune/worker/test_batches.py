"""Batches in which no row is another's false negative."""

import random
from itertools import islice
from typing import Any

from ragkit_tune.worker.pair_batches import different_rows, positives_of, separate_batches


def row(query: str, positive: str, *negatives: str) -> dict[str, Any]:
    return {"query": query, "positive": positive, "negatives": list(negatives)}


def judged_rows(queries: int, documents: int, seed: int = 0) -> list[dict[str, Any]]:
    """Make rows as of a set in which each query has seven relevant documents among few."""
    draw = random.Random(seed)
    names = [f"d{n}" for n in range(documents)]
    return [
        row(f"q{n}", positive, draw.choice(names))
        for n in range(queries)
        for positive in draw.sample(names, 7)
    ]


def test_no_batch_shows_a_query_a_passage_that_answers_it_as_a_negative() -> None:
    rows = judged_rows(60, 400)
    known = positives_of(rows)
    order = random.Random(1).sample(range(len(rows)), len(rows))
    batches = list(separate_batches(rows, order, 8))
    assert len(batches) > 40
    for batch in batches:
        for number in batch:
            others = [rows[other] for other in batch if other != number]
            shown = {text for other in others for text in (other["positive"], *other["negatives"])}
            assert not shown & known[rows[number]["query"]]
            assert rows[number]["query"] not in {other["query"] for other in others}
    numbers = [number for batch in batches for number in batch]
    assert len(set(numbers)) == len(numbers)


def test_a_row_that_does_not_fit_waits_for_the_next_batch() -> None:
    rows = [row("a", "1"), row("a", "2"), row("b", "3"), row("c", "1"), row("d", "4")]
    assert list(separate_batches(rows, range(5), 2)) == [[0, 2], [1, 4]]  # "1" answers a, too
    assert list(separate_batches(rows, [4, 3, 2, 1, 0], 2)) == [[4, 3], [2, 1]]


def test_rows_of_different_texts_are_cut_in_their_order() -> None:
    rows = [row(f"q{n}", f"p{n}") for n in range(10)]
    assert list(separate_batches(rows, range(10), 4)) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert different_rows(rows, 16) == 10
    assert different_rows(rows, 4) == 4


def test_a_batch_of_the_size_that_was_found_can_be_made_again_and_again() -> None:
    rows = judged_rows(30, 60)
    size = different_rows(rows, 32)
    assert 1 < size < 30
    orders = (random.Random(seed).sample(range(len(rows)), len(rows)) for seed in range(20))
    made = [len(list(islice(separate_batches(rows, order, size), 3))) for order in orders]
    assert sum(made) > 20
