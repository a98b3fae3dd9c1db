"""Measure how many tokens the rows of a data folder have, for each forward pass of a row.

It reads rows of any kind by their fields, and a tokenizer by its file; no model is loaded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ragkit_tune.plan.time import expected_longest

if TYPE_CHECKING:
    from ragkit_tune.data.data_set import DataSet
    from ragkit_tune.plan.memory import Passes
    from ragkit_tune.recipe import Recipe

_SAMPLE: Final = 2000  # rows whose tokens are counted; arbitrary
_LONGEST: Final = 64  # and the rows with the most characters besides; arbitrary
_MESSAGE_TOKENS: Final = 8  # what a chat template adds to a message, about; arbitrary


@dataclass(frozen=True, slots=True)
class Column:
    """One forward pass of a row: how many sequences it has, and tokens of some of them."""

    sequences: int
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Lengths:
    """The rows of a data set in tokens; `counted` is False where every row is taken as longest."""

    rows: int
    columns: tuple[Column, ...]
    counted: bool

    def longest(self, micro_batch: int) -> Passes:
        """Return the passes of a micro-batch of the longest rows."""
        return [(micro_batch * c.sequences, max(c.tokens)) for c in self.columns]

    def cut(self, tokens: int) -> Lengths:
        """Return the lengths of these rows with so many tokens at most."""
        columns = [replace(c, tokens=tuple(min(tokens, n) for n in c.tokens)) for c in self.columns]
        return replace(self, columns=tuple(columns))

    def usual(self, micro_batch: int) -> Passes:
        """Return the passes of an average micro-batch, padded to its longest row."""
        return [
            (
                micro_batch * c.sequences,
                round(expected_longest(c.tokens, micro_batch * c.sequences)),
            )
            for c in self.columns
        ]


def read_lengths(recipe: Recipe, data: DataSet, tokenizer: Path | None) -> Lengths:
    """Count the tokens of the training rows, by a tokenizer.json; without it all are longest."""
    from ragkit_tune.data.data_set import read_objects

    rows = [row for _, row in read_objects(data.path("train"))]
    texts = _texts(recipe)
    count = _counter(tokenizer) if tokenizer else None
    if count is None or not rows:
        first = texts(rows[0]) if rows else [[""]]
        longest = tuple(Column(len(column), (recipe.max_tokens,)) for column in first)
        return Lengths(len(rows), longest, counted=False)
    chosen = rows[:: max(1, len(rows) // _SAMPLE)]
    chosen += sorted(rows, key=lambda row: -len(str(row)))[:_LONGEST]
    columns_of_rows = [texts(row) for row in chosen]
    width = max(map(len, columns_of_rows))
    columns: list[Column] = []
    for n in range(width):
        parts = [of_row[n] for of_row in columns_of_rows if n < len(of_row)]
        tokens = [min(recipe.max_tokens, count(text)) for part in parts for text in part]
        columns.append(Column(max(map(len, parts)), tuple(tokens)))
    return Lengths(len(rows), tuple(columns), counted=True)


def _counter(tokenizer: Path) -> Callable[[str], int]:
    from tokenizers import Tokenizer

    loaded = Tokenizer.from_file(str(tokenizer))
    loaded.no_padding()
    loaded.no_truncation()
    return lambda text: len(loaded.encode(text).ids)


def _texts(recipe: Recipe) -> Callable[[Mapping[str, Any]], list[list[str]]]:
    """Return how a row becomes passes, and each pass texts."""
    if recipe.kind == "embedder":
        return lambda row: [[row["query"]], *([text] for text in _passages(row, recipe.negatives))]
    if recipe.kind == "reranker":
        return lambda row: [[f"{row['query']} {text}" for text in _passages(row, recipe.negatives)]]
    return lambda row: [_chat(row)]


def _passages(row: Mapping[str, Any], negatives: int) -> list[str]:
    """Return the positive and so many negatives; for those that a row lacks others' positives come.

    The row's own positive stands for them, which is as long on average.
    """
    texts = [row["positive"], *row.get("negatives", [])[:negatives]]
    return texts + [row["positive"]] * (negatives + 1 - len(texts))


def _chat(row: Mapping[str, Any]) -> list[str]:
    """Return the sequences of a row of a chat, a preference or a completion."""
    messages = row.get("messages") or row.get("prompt") or []
    prompt = " ".join(m["content"] + " ." * _MESSAGE_TOKENS for m in messages)
    answers = [row[name] for name in ("chosen", "rejected", "completion") if name in row]
    return [f"{prompt} {answer}" for answer in answers] or [prompt]


def tokenizer_file(base: str) -> Path | None:
    """Find a model's tokenizer.json in its folder, in its package or in the hub's cache."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    from ragkit.embed.find import find_model, is_packaged

    folder = find_model(base).folder if is_packaged(base) else Path(base).expanduser()
    if folder.is_dir():
        file = folder / "tokenizer.json"
        return file if file.is_file() and _is_json(file) else None
    try:
        cached = try_to_load_from_cache(base, "tokenizer.json")
    except HFValidationError:
        return None
    return Path(cached) if isinstance(cached, str) else None


def own_limit(folder: Path, config: Mapping[str, Any]) -> int | None:
    """Return how many tokens a model reads, None where its files do not say.

    As sentence-transformers 5 takes it: its own file's number, else the smaller of the model's
    positions and the tokenizer's.
    """
    named = _number(_values(folder / "sentence_bert_config.json").get("max_seq_length"))
    positions = config.get("max_position_embeddings")
    tokenizer = _values(folder / "tokenizer_config.json").get("model_max_length")
    known = [n for n in map(_number, (positions, tokenizer)) if n]
    return named or min(known, default=None)


def _number(value: object) -> int | None:
    return value if type(value) is int and value > 0 else None


def _is_json(file: Path) -> bool:
    return bool(_values(file))


def _values(file: Path) -> dict[str, Any]:
    try:
        values = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}
