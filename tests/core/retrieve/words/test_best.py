"""The best chunks found by pruning are those of scoring everything, to the last bit."""

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragkit.retrieve.words.bm25 import Weighing, bm25, scores_of, top_k, weigh_collection
from ragkit.retrieve.words.top_k import find_best
from ragkit.text.postings import Posting, Postings, Segment, Term

WORDS = "abcdefgh"
# Later words are rarer, as in language, so that there is something to prune.
CHUNKS = st.lists(
    st.tuples(st.lists(st.sampled_from("aaaaaaaabbbbccdefgh"), max_size=15), st.integers(0, 5)),
    min_size=1,
    max_size=60,
)


def index(segments: Sequence[Sequence[tuple[Sequence[str], bool]]], *, dense: bool) -> Postings:
    """Make postings of segments of chunks, each its terms and whether it is gone; ids go on."""
    made: list[Segment] = []
    found: dict[str, list[Posting | None]] = defaultdict(lambda: [None] * len(segments))
    containing: Counter[str] = Counter()
    first = 0
    for number, chunks in enumerate(segments):
        lengths = np.array([len(terms) for terms, _ in chunks], np.int32)
        gone = np.array([is_gone for _, is_gone in chunks], np.bool_)
        ids = np.arange(first, first + len(chunks), dtype=np.int64)
        made.append(Segment(ids, lengths, gone if gone.any() else None))
        first += len(chunks)
        for word in WORDS:
            counts = np.array([list(terms).count(word) for terms, _ in chunks])
            places = np.flatnonzero(counts).astype(np.int32)
            if len(places):
                one = (None, counts) if dense else (places, counts[places])
                found[word][number] = Posting.of(one[0], one[1].astype(np.uint8), lengths)
                containing[word] += int(np.count_nonzero(counts[~gone]))
    living = [terms for chunks in segments for terms, is_gone in chunks if not is_gone]
    terms = {word: Term(containing[word], found[word]) for word in found if containing[word]}
    return Postings(len(living), sum(map(len, living)), made, terms)


@settings(max_examples=300)
@given(
    chunks=CHUNKS,
    query=st.lists(st.sampled_from(WORDS + "z"), max_size=6),
    k=st.integers(1, 12),
    cut=st.integers(0, 60),
    dense=st.booleans(),
    constants=st.sampled_from([(1.2, 0.75), (0.0, 0.5), (2.0, 0.0), (100.0, 1.0)]),
    narrow=st.booleans(),
)
def test_pruning_changes_nothing(
    chunks: list[tuple[list[str], int]],
    query: list[str],
    k: int,
    cut: int,
    dense: bool,
    constants: tuple[float, float],
    narrow: bool,
) -> None:
    every = [(terms, dice == 0) for terms, dice in chunks]
    parts = [part for part in (every[:cut], every[cut:]) if part]
    postings = index(parts, dense=dense)
    by = weigh_collection(postings, *constants)
    ids, scores = bm25(postings, query, k1=constants[0], b=constants[1])
    permitted = [
        np.array([dice % 2 == 0 for _, dice in chunks], np.bool_)[s.ids] for s in postings.segments
    ]
    if narrow:
        kept = np.array([chunks[i][1] % 2 == 0 for i in ids], np.bool_)
        ids, scores = ids[kept], scores[kept]
    expected = top_k(ids, scores, k)
    assert find_best(postings, query, k, by, permitted if narrow else None) == expected
    wanted = [chunk for chunk, _ in expected]
    assert scores_of(postings, query, wanted, by) == dict(expected)


def test_a_common_word_is_only_looked_up_where_it_can_matter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One rare word decides: of the common one's thousand chunks only the rare one's are scored."""
    chunks = [(["a", "h"] if n < 5 else ["a"], False) for n in range(1000)]
    postings = index([chunks], dense=False)
    scored: list[int] = []
    plain = Weighing.saturated

    def counting(
        self: Weighing,
        frequencies: np.ndarray,
        lengths: np.ndarray,
    ) -> np.ndarray:
        scored.append(len(frequencies))
        return plain(self, frequencies, lengths)

    monkeypatch.setattr(Weighing, "saturated", counting)
    found = find_best(postings, ["a", "h"], 5, weigh_collection(postings))
    assert [chunk for chunk, _ in found] == [0, 1, 2, 3, 4]
    assert max(scored) == 5


def test_nothing_to_find() -> None:
    postings = index([[(["a"], False)]], dense=False)
    assert find_best(postings, [], 3, weigh_collection(postings)) == []
    assert find_best(postings, ["z"], 3, weigh_collection(postings)) == []
    assert find_best(Postings(0, 0, (), {}), ["a"], 3, Weighing(1.2, 0.75, 1)) == []
