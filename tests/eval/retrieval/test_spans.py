"""Overlap of found places with labelled ones, against sets of characters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit.errors import UsageError
from ragkit_eval.retrieval import SpanScores, span_scores
from ragkit_eval.sets.values import Excerpt

PLACES = st.builds(
    lambda document, start, size: Excerpt(document, start, start + size),
    st.sampled_from(["a", "b", "", "文件"]),
    st.integers(0, 12),
    st.integers(1, 8),
)


def characters(places: list[Excerpt]) -> set[tuple[str, int]]:
    return {(p.document, i) for p in places for i in range(p.start, p.end)}


@given(labels=st.lists(PLACES, min_size=1, max_size=5), retrieved=st.lists(PLACES, max_size=6))
def test_scores_are_those_of_sets_of_characters(
    labels: list[Excerpt], retrieved: list[Excerpt]
) -> None:
    labelled, got = characters(labels), characters(retrieved)
    shared = len(labelled & got)
    assert span_scores(labels, retrieved) == SpanScores(
        recall=shared / len(labelled),
        precision=shared / len(got) if got else 0.0,
        iou=shared / len(labelled | got),
    )
    read = sum(place.end - place.start for place in retrieved)
    assert span_scores(labels, retrieved, repeated=True) == SpanScores(
        recall=shared / len(labelled),
        precision=shared / read if read else 0.0,
        iou=shared / (read + len(labelled - got)),
    )


def test_overlapping_chunks_cost_precision_only_when_they_count_again() -> None:
    labels = [Excerpt("a", 10, 20)]
    retrieved = [Excerpt("a", 0, 20), Excerpt("a", 10, 30)]
    assert span_scores(labels, retrieved) == SpanScores(1.0, 10 / 30, 10 / 30)
    assert span_scores(labels, retrieved, repeated=True) == SpanScores(1.0, 10 / 40, 10 / 40)


def test_the_same_place_is_found_wholly_and_another_document_not_at_all() -> None:
    assert span_scores([Excerpt("a", 3, 9)], [Excerpt("a", 3, 9)]) == SpanScores(1.0, 1.0, 1.0)
    assert span_scores([Excerpt("a", 3, 9)], [Excerpt("b", 3, 9)]) == SpanScores(0.0, 0.0, 0.0)
    assert span_scores([Excerpt("a", 3, 9)], [Excerpt("a", 9, 12)]) == SpanScores(0.0, 0.0, 0.0)


def test_no_label_and_places_that_are_none_are_refused() -> None:
    with pytest.raises(UsageError, match="has no labelled excerpt"):
        span_scores([], [Excerpt("a", 0, 1)])
    for start, end in ((-1, 2), (2, 2), (5, 3)):
        with pytest.raises(UsageError, match=f"{start}-{end} of 'a' is not an excerpt"):
            span_scores([Excerpt("a", start, end)], [])
        with pytest.raises(UsageError, match=f"{start}-{end} of 'a' is not an excerpt"):
            span_scores([Excerpt("a", 0, 1)], [Excerpt("a", start, end)])
