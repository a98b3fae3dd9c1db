"""The split: by cluster, stable beside new documents, large enough to prove by."""

from collections import Counter

import pytest

from ragkit.errors import UsageError
from ragkit.text.near_duplicates import signature
from ragkit.types import Hit, Span
from ragkit_tune.data.clusters import Clusters, NearTexts, divide
from ragkit_tune.data.questions import Place, Question


def question(text: str, *uris: str, group: str = "") -> Question:
    hits = [Hit(1, 1, uri, "", None, 0, 9, "A passage", 0.0) for uri in uris]
    places = tuple(Place(hit, Span(0, 9)) for hit in hits)
    return Question(text, places, "labelled", group=group)


def singles(count: int) -> tuple[list[Question], Clusters]:
    """Return a question about each of so many documents, each a cluster."""
    uris = [f"/d/{n}.md" for n in range(count)]
    return [question(f"About {uri}?", uri) for uri in uris], Clusters({uri: uri for uri in uris})


def test_near_texts_are_recognised_and_others_are_not() -> None:
    text = " ".join(f"word{n}" for n in range(200))
    near = NearTexts()
    near.add(signature(" ".join(f"other{n}" for n in range(200))))
    near.add(signature(text))
    assert near.near(signature(text + " and more")) == [1]
    assert near.near(signature("something else entirely, of some length")) == []


def test_about_seventy_ten_and_twenty_in_a_hundred() -> None:
    questions, clusters = singles(2000)
    counts = Counter(divide(questions, clusters, 0).of_question)
    assert counts == {"train": 1371, "test": 415, "dev": 214}


def test_the_test_gets_the_share_that_is_asked_for_and_train_loses_it() -> None:
    questions, clusters = singles(2000)
    usual = divide(questions, clusters, 0).of_question
    half = divide(questions, clusters, 0, 0.5).of_question
    assert Counter(half) == {"train": 780, "test": 1009, "dev": 211}
    assert all(new == "test" for old, new in zip(usual, half, strict=True) if old == "test")


@pytest.mark.parametrize("share", [0.05, 0.5, 0.8])
def test_a_small_collection_has_about_that_share_of_test_questions(share: float) -> None:
    for seed in range(20):
        questions, clusters = singles(30)
        counts = Counter(divide(questions, clusters, seed, share).of_question)
        low, high = max(6, 0.6 * share * 30), max(6, 30 * min(2 * share, (1 + share) / 2))
        assert low <= counts["test"] <= high
        assert counts["train"] >= 1
        assert counts["dev"] >= 1


def test_another_document_moves_none_of_the_others() -> None:
    questions, clusters = singles(400)
    more, larger = singles(440)
    assert divide(more, larger, 3).of_question[:400] == divide(questions, clusters, 3).of_question
    assert divide(questions, clusters, 4).of_question != divide(questions, clusters, 3).of_question


@pytest.mark.parametrize(
    ("count", "fewest"), [(2, 1), (3, 1), (5, 1), (8, 3), (14, 6), (30, 6), (60, 6)]
)
def test_a_small_collection_has_enough_clusters_to_prove_by(count: int, fewest: int) -> None:
    for seed in range(20):
        questions, clusters = singles(count)
        counts = Counter(divide(questions, clusters, seed).of_question)
        assert counts["test"] >= fewest
        assert counts["train"] >= 1
        assert counts["dev"] >= (1 if count > 2 else 0)


def test_questions_of_a_group_stay_together() -> None:
    questions, clusters = singles(40)
    grouped = [
        question(item.text, item.places[0].passage.uri, group="ab"[n % 2] if n < 10 else "")
        for n, item in enumerate(questions)
    ]
    for seed in range(10):
        splits = divide(grouped, clusters, seed).of_question
        assert len({splits[n] for n in range(0, 10, 2)}) == 1
        assert len({splits[n] for n in range(1, 10, 2)}) == 1


def test_all_documents_of_a_test_question_are_test() -> None:
    questions, clusters = singles(40)
    several = question("About all?", *(f"/d/{n}.md" for n in range(10)))
    for seed in range(10):
        division = divide([*questions, several], clusters, seed)
        if division.of_question[-1] == "test":
            assert {division.of_cluster[uri] for uri in several.uris} == {"test"}
            break
    else:
        pytest.fail("no seed puts the question into the test")


def test_one_cluster_cannot_be_divided() -> None:
    questions, clusters = singles(1)
    with pytest.raises(UsageError, match="all questions are about one document"):
        divide(questions, clusters, 0)
