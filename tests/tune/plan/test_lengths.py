"""Tokens of rows, for each forward pass of a row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ragkit_tune.data.data_set import DataSet, write_data_set
from ragkit_tune.plan.lengths import Column, Lengths, read_lengths
from ragkit_tune.recipe import read_recipe


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    """A tokenizer with a token for each word."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit

    made = Tokenizer(WordLevel({"x": 0, "[UNK]": 1}, unk_token="[UNK]"))
    made.pre_tokenizer = WhitespaceSplit()
    made.save(str(tmp_path / "tokenizer.json"))
    return tmp_path / "tokenizer.json"


def pairs(folder: Path, *words: tuple[int, int, int]) -> DataSet:
    rows = [
        {
            "id": str(n),
            "query": "x " * query,
            "positive": "x " * positive,
            "negatives": ["y " * negative] if negative else [],
            "document": "file:a",
            "start": 0,
            "end": 2 * positive,
        }
        for n, (query, positive, negative) in enumerate(words)
    ]
    return write_data_set(folder / "data", "pairs", {"train": rows}, {})


def lengths(data: DataSet, tokenizer: Path | None, kind: str, **values: Any) -> Lengths:
    recipe = read_recipe(None, kind=kind, base="m", data=str(data.folder), **values)
    return read_lengths(recipe, data, tokenizer)


def test_an_embedder_reads_queries_positives_and_negatives_apart(
    tmp_path: Path, tokenizer: Path
) -> None:
    data = pairs(tmp_path, (3, 10, 0), (4, 30, 20))
    read = lengths(data, tokenizer, "embedder", max_tokens=25)
    assert read.rows == 2
    assert read.longest(8) == [(8, 4), (8, 25), (8, 20)]
    assert read.usual(1) == [(1, 4), (1, 18), (1, 15)]  # the first row borrows another's positive
    assert read.counted
    assert lengths(data, tokenizer, "embedder", negatives=0).longest(8) == [(8, 4), (8, 30)]


def test_a_reranker_reads_a_query_with_each_passage(tmp_path: Path, tokenizer: Path) -> None:
    read = lengths(pairs(tmp_path, (3, 10, 0), (4, 30, 20)), tokenizer, "reranker")
    assert read.longest(8) == [(32, 34)]  # the positive and three negatives


def test_the_longest_row_is_counted_among_many(tmp_path: Path, tokenizer: Path) -> None:
    rows = [(3, 10, 0)] * 4001 + [(3, 99, 0)] + [(3, 10, 0)] * 4000
    assert lengths(pairs(tmp_path, *rows), tokenizer, "embedder").longest(1) == [
        (1, 3),
        (1, 99),
        (1, 99),
    ]


def test_without_a_tokenizer_every_row_is_the_longest(tmp_path: Path) -> None:
    read = lengths(pairs(tmp_path, (3, 10, 5)), None, "embedder", max_tokens=64)
    assert read.longest(2) == [(2, 64)] * 3
    assert not read.counted


@pytest.mark.parametrize(
    ("kind", "row", "expected"),
    [
        ("chat", {"messages": [{"role": "user", "content": "x x"}] * 2}, [(1, 20)]),
        (
            "preference",
            {"prompt": [{"role": "user", "content": "x"}], "chosen": "x x", "rejected": "x"},
            [(2, 11)],
        ),
        (
            "completion",
            {"prompt": [{"role": "user", "content": "x"}], "completion": "x", "label": True},
            [(1, 10)],
        ),
    ],
)
def test_rows_of_language_models(
    tmp_path: Path, tokenizer: Path, kind: Any, row: dict[str, Any], expected: list[tuple[int, int]]
) -> None:
    data = write_data_set(tmp_path / "data", kind, {"train": [row]}, {})
    assert lengths(data, tokenizer, "adapter").longest(1) == expected


def test_a_pass_has_so_many_sequences_a_row() -> None:
    read = Lengths(1, (Column(3, (10, 20)),), counted=True)
    assert read.longest(4) == [(12, 20)]
    assert read.usual(1) == [(3, 19)]
