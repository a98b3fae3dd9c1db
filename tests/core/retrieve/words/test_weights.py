"""A term's weight in a collection is its idf there, now."""

from math import log

import pytest

from ragkit.errors import NotFoundError
from ragkit.retrieve.words.weights import PRIOR_CHUNKS, term_weights
from ragkit.testing import FakeEmbedder, FakeStore, fill, new_document


@pytest.fixture
def store() -> FakeStore:
    made = FakeStore()
    fill(made, FakeEmbedder(), [new_document("a", "wing and tail", "wing"), new_document("b", "x")])
    return made


def test_a_term_weighs_by_how_few_chunks_have_it(store: FakeStore) -> None:
    weights = term_weights(store, "default", ["wing", "tail", "absent"])
    assert weights == {
        "wing": pytest.approx(log(1 + (1.5 + PRIOR_CHUNKS) / 2.5)),
        "tail": pytest.approx(log(1 + (2.5 + PRIOR_CHUNKS) / 1.5)),
        "absent": pytest.approx(log(1 + (3.5 + PRIOR_CHUNKS) / 0.5)),
    }
    assert term_weights(store, "default", []) == {}


def test_an_unknown_collection_is_named(store: FakeStore) -> None:
    with pytest.raises(NotFoundError, match="nowhere"):
        term_weights(store, "nowhere", ["wing"])
