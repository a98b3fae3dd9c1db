"""What is read of an answer of /v1/embeddings, and what is refused."""

import base64
import json
from typing import Any

import numpy as np
import pytest

from ragkit.model.embedding_answer import read_embeddings


def answer(*rows: Any, **fields: Any) -> bytes:
    data = [{"index": n, "embedding": row} for n, row in enumerate(rows)]
    return json.dumps({"data": data, **fields}).encode()


def packed(*numbers: float) -> str:
    return base64.b64encode(np.array(numbers, "<f4").tobytes()).decode()


def test_vectors_become_unit_vectors_of_float32() -> None:
    read = read_embeddings(answer([3, 4.0], [0, -2]), 2)
    assert read.vectors.dtype == np.float32
    assert read.vectors.tolist() == [[np.float32(0.6), np.float32(0.8)], [0.0, -1.0]]
    assert read.tokens == 0


def test_vectors_in_base64_are_the_same() -> None:
    read = read_embeddings(answer(packed(3, 4), [0, -2], usage={"prompt_tokens": 7}), 2)
    assert np.allclose(read.vectors, np.array([[0.6, 0.8], [0, -1]]))
    assert read.tokens == 7


def test_the_order_is_that_of_the_indices() -> None:
    rows = [{"index": 1, "embedding": [1, 0]}, {"index": 0, "embedding": [0, 1]}]
    assert read_embeddings(json.dumps({"data": rows}).encode(), 2).vectors.tolist() == [
        [0, 1], [1, 0],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"<html>", "Expecting value"),
        (b"[]", "no list of embeddings"),
        (b'{"data": [1, 2]}', "no list of embeddings"),
        (answer([1.0]), "indices are not those of 2 texts"),
        (b'{"data": [{"index": 0}, {"index": 0}]}', "indices are not those of 2 texts"),
        (b'{"data": [{"index": true}, {"index": 0}]}', "indices are not those of 2 texts"),
        (answer([1.0], [1.0, 2.0]), "1 and 2 dimensions"),
        (answer([], []), "0 dimensions"),
        (answer([1.0], "AAA"), "Incorrect padding"),
        (answer([1.0], "AAAA"), "in base64 is cut off"),
        (answer([1.0], None), "no list of numbers"),
        (answer([1.0], [True]), "no list of numbers"),
        (answer([1.0], ["1"]), "no list of numbers"),
        (answer([1.0], [10**400]), "too large"),
        (answer([1.0], [float("nan")]), "not finite"),
        (answer([1.0], [0.0]), "no length"),
        (answer([1.0] * 16_001, [1.0] * 16_001), "16001 dimensions"),
    ],
)
def test_anything_else_is_refused(content: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_embeddings(content, 2)


@pytest.mark.parametrize("usage", [None, 7, {}, {"prompt_tokens": "7"}, {"prompt_tokens": -7}])
def test_a_strange_count_of_tokens_is_none(usage: Any) -> None:
    assert read_embeddings(answer([1.0], usage=usage), 1).tokens == 0
