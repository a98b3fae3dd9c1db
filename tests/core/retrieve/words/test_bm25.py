"""BM25 by hand, by its laws, and against bm25s on real texts."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit.retrieve.words.bm25 import bm25, idf, idf_mass, scores_of, top_k, weigh_collection
from ragkit.text.analyse import analyse
from ragkit.text.postings import Posting, Postings, Segment, Term
from tests.places import DATA

RETRIEVAL = DATA / "retrieval"

TERMS = st.lists(st.sampled_from("abcde"), max_size=8)
TEXTS = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=12), min_size=1, max_size=9)


def index(texts: Sequence[Sequence[str]], ids: Sequence[int] | None = None) -> Postings:
    """Make the postings of chunks given as terms, numbered from 0 unless told."""
    chunks = sorted(zip(ids or range(len(texts)), texts, strict=True))
    segment = Segment(
        np.array([chunk for chunk, _ in chunks], np.int64),
        np.array([len(terms) for _, terms in chunks], np.int32),
    )
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for place, (_, terms) in enumerate(chunks):
        for term, frequency in Counter(terms).items():
            found[term].append((place, frequency))
    return Postings(
        chunks=len(texts),
        total_length=sum(map(len, texts)),
        segments=(segment,),
        terms={
            term: Term(
                len(rows),
                (
                    Posting.of(
                        np.array([place for place, _ in rows], np.int32),
                        np.array([frequency for _, frequency in rows], np.uint32),
                        segment.lengths,
                    ),
                ),
            )
            for term, rows in found.items()
        },
    )


def scores(postings: Postings, *query: str) -> dict[int, float]:
    ids, values = bm25(postings, query)
    return dict(zip(ids.tolist(), values.tolist(), strict=True))


def test_scores_by_hand() -> None:
    # Three chunks of 2, 4 and 3 terms, mean 3; "a" in two of them, "b" in one.
    postings = index([["a", "x"], ["a", "a", "b", "x"], ["x", "y", "z"]])
    idf_a, idf_b = math.log(1 + 1.5 / 2.5), math.log(1 + 2.5 / 1.5)
    norm_0, norm_1 = 1.2 * (0.25 + 0.75 * 2 / 3), 1.2 * (0.25 + 0.75 * 4 / 3)
    expected_1 = idf_a * 2 / (2 + norm_1) + idf_b * 1 / (1 + norm_1)
    assert scores(postings, "a", "b") == pytest.approx({0: idf_a / (1 + norm_0), 1: expected_1})
    assert round(idf_a, 4) == 0.47
    assert round(expected_1, 4) == 0.6609


def test_a_term_asked_twice_counts_twice() -> None:
    postings = index([["a", "b"], ["b"]])
    assert scores(postings, "a", "a") == pytest.approx({0: 2 * scores(postings, "a")[0]})


def test_k1_and_b_are_what_the_formula_says() -> None:
    postings = index([["a", "a", "x", "x"], ["a"], ["y"]])
    ids, no_frequency = bm25(postings, ["a"], k1=0)
    assert ids.tolist() == [0, 1]
    assert no_frequency.tolist() == pytest.approx([idf(3, 2)] * 2)
    _, no_length = bm25(postings, ["a"], b=0)
    assert no_length.tolist() == pytest.approx([idf(3, 2) * 2 / 3.2, idf(3, 2) / 2.2])


@pytest.mark.parametrize("query", [[], ["z"]])
def test_nothing_found_is_empty(query: list[str]) -> None:
    ids, values = bm25(index([["a"]]), query)
    assert (str(ids.dtype), str(values.dtype)) == ("int64", "float64")
    assert (len(ids), len(values)) == (0, 0)
    assert top_k(ids, values, 5) == []
    assert scores_of(index([["a"]]), query, [0, 1], weigh_collection(index([["a"]]))) == {}


def test_nothing_is_found_in_an_empty_collection() -> None:
    assert scores(index([]), "a") == {}


def test_best_come_first_and_equal_scores_by_id() -> None:
    ids = np.array([3, 5, 7, 8, 9], np.int64)
    values = np.array([1.0, 2.0, 1.0, 2.0, 1.0])
    assert top_k(ids, values, 3) == [(5, 2.0), (8, 2.0), (3, 1.0)]
    assert top_k(ids, values, 50) == [(5, 2.0), (8, 2.0), (3, 1.0), (7, 1.0), (9, 1.0)]


def test_scores_of_wanted_chunks() -> None:
    postings = index([["a"], ["b"], ["a", "c"]], [3, 4, 5])
    found = scores_of(postings, ["a"], [9, 5, 4, 3, 1], weigh_collection(postings))
    assert found == scores(postings, "a")
    assert list(found) == [5, 3]


def test_idf_mass_counts_repetitions_and_unknown_terms() -> None:
    postings = index([["a"], ["b"], ["b"]])
    assert idf_mass(postings, ["a", "b", "b", "z"]) == pytest.approx(
        idf(3, 1) + 2 * idf(3, 2) + idf(3, 0)
    )


@given(texts=TEXTS, query=TERMS, seed=st.randoms())
def test_order_of_terms_and_chunks_does_not_matter(
    texts: list[list[str]], query: list[str], seed: Random
) -> None:
    expected = scores(index(texts), *query)
    shuffled = sorted(range(len(texts)), key=lambda _: seed.random())
    postings = index([texts[n] for n in shuffled], shuffled)
    assert scores(postings, *sorted(query)) == pytest.approx(expected)


@given(texts=TEXTS, query=TERMS)
def test_scores_are_positive_and_below_the_idf_mass(
    texts: list[list[str]], query: list[str]
) -> None:
    postings = index(texts)
    found = scores(postings, *query)
    assert set(found) == {n for n, terms in enumerate(texts) if set(terms) & set(query)}
    assert all(0 < score < idf_mass(postings, query) for score in found.values())


@given(texts=TEXTS, query=TERMS, n=st.integers(0, 8))
def test_a_copy_of_a_chunk_scores_what_the_chunk_scores(
    texts: list[list[str]], query: list[str], n: int
) -> None:
    original = n % len(texts)
    found = scores(index([*texts, texts[original]]), *query)
    assert found.get(len(texts)) == found.get(original)


@pytest.mark.skipif(not RETRIEVAL.is_dir(), reason=f"no test data at {RETRIEVAL}")
@pytest.mark.parametrize("name", ["cranfield", "cmrc"])
def test_scores_equal_bm25s(name: str) -> None:
    import bm25s

    texts, queries = cranfield() if name == "cranfield" else cmrc()
    tokens = [analyse(text) for text in texts]
    postings = index(tokens)
    reference = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    reference.index(tokens, show_progress=False)
    furthest = 0.0
    for query in queries:
        expected = reference.get_scores([t for t in analyse(query) if t in postings.terms])
        ids, values = bm25(postings, analyse(query))
        actual = np.zeros(len(texts))
        actual[ids] = values
        furthest = max(furthest, float(np.abs(actual - expected).max()))
    print(f"\n{name}: {len(queries)} queries, largest difference from bm25s {furthest:.1e}")
    assert furthest < 1e-4


def cranfield() -> tuple[list[str], list[str]]:
    folder = RETRIEVAL / "cranfield"
    texts, queries = (
        [json.loads(line)["text"] for line in (folder / name).read_text("utf-8").splitlines()]
        for name in ("corpus.jsonl", "queries.jsonl")
    )
    return texts, queries


def cmrc() -> tuple[list[str], list[str]]:
    data = json.loads((RETRIEVAL / "cmrc2018_dev.json").read_text("utf-8"))["data"]
    paragraphs = [paragraph for entry in data for paragraph in entry["paragraphs"]][::4]
    questions = [asked["question"] for paragraph in paragraphs for asked in paragraph["qas"]]
    return [paragraph["context"] for paragraph in paragraphs], questions[::3]
