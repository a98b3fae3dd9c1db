"""How the benchmark of retrieval counts what is found: what says the same is found with it."""

from dataclasses import replace

import pytest

from benchmarks.retrieval import by_document, excerpt_recall, holding_half
from ragkit.types import Copy, Hit
from ragkit_eval.sets import Excerpt, Question

FIRST = Hit(1, 11, "file:///a.txt", "", None, 0, 100, "Terms of payment", 2.0)
SECOND = Hit(2, 22, "file:///b.txt", "", None, 0, 80, "Terms of delivery", 1.0)
COPY = Copy(3, 33, "file:///c.txt", "", None, 500, 600)
ASKED = Question("q", "When?", excerpts=(Excerpt("c", 550, 600), Excerpt("b", 0, 50)))


def test_a_document_found_as_a_duplicate_counts_right_after_what_names_it() -> None:
    found = by_document([replace(FIRST, duplicates=(COPY,)), SECOND])
    assert sorted(found, key=lambda name: -found[name]) == ["a", "c", "b"]


def test_a_document_stands_where_its_best_chunk_does() -> None:
    found = by_document([FIRST, SECOND, replace(FIRST, chunk=12, start=100, end=200)])
    assert sorted(found, key=lambda name: -found[name]) == ["a", "b"]


def test_an_excerpt_is_recalled_where_a_duplicate_of_a_hit_has_it() -> None:
    assert excerpt_recall(ASKED, [FIRST, SECOND]) == 0.5
    assert excerpt_recall(ASKED, [replace(FIRST, duplicates=(COPY,)), SECOND]) == 1.0
    assert excerpt_recall(ASKED, [FIRST] * 5 + [SECOND]) == 0.0  # the sixth is not shown


@pytest.mark.parametrize(("start", "relevant"), [(0, True), (25, True), (26, False)])
def test_a_chunk_is_relevant_that_holds_half_of_an_excerpt(start: int, relevant: bool) -> None:
    chunk = replace(SECOND, start=start)
    expected = {"terms of delivery": 1} if relevant else {}
    assert holding_half(ASKED.excerpts, [FIRST, chunk]) == expected
