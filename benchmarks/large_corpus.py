"""A made-up collection of millions of chunks with words, for speed alone, made block by block.

Vectors as in drawn.py, but in no order: 200 clusters in 32 directions, spread over 384 with some
noise. Text as in zipf.py. A document has ten chunks of one cluster, and two numbers below 10,000 to
filter by: `random` has nothing to do with the vectors, `near` goes with the cluster. A collection
is the beginning of each larger one. Knows nothing of stores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks import zipf
from benchmarks.corpus import document
from ragkit.text.terms import Terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ragkit.contracts import Vectors
    from ragkit.types import NewDocument

DIMENSION: Final = 384
PER_DOCUMENT: Final = 10
BELOW: Final = 10_000  # the documents' numbers
CLUSTERS: Final = 200
BLOCK: Final = 50_000  # chunks made at once
_LATENT: Final = 32
_EACH: Final = BELOW // CLUSTERS  # numbers `near` of a cluster


@dataclass(frozen=True, slots=True)
class Block:
    """Some chunks in a row: unit vectors of shape (n, 384), words, and numbers of shape (n,)."""

    first: int
    vectors: Vectors
    words: zipf.Corpus
    numbers: dict[str, NDArray[np.int64]]

    def passing(self, field: str | None, below: int) -> NDArray[np.bool_]:
        """Tell of each chunk whether its document's number is below; without a field all pass."""
        return np.ones(len(self.vectors), bool) if field is None else self.numbers[field] < below

    def terms(self) -> Terms:
        """Return the terms of the chunks' words, which no analyser changes."""
        return Terms(_vocabulary(), self.words.terms, np.diff(self.words.starts))

    def documents(self) -> Iterator[NewDocument]:
        """Make the documents, by their URIs."""
        spelled = _vocabulary()
        for start in range(0, len(self.vectors), PER_DOCUMENT):
            texts = [
                " ".join(map(spelled.__getitem__, self.words.chunk(n).tolist()))
                for n in range(start, start + PER_DOCUMENT)
            ]
            numbers = {name: f"{of[start]:04}" for name, of in self.numbers.items()}
            yield document((self.first + start) // PER_DOCUMENT, texts, numbers)


def blocks(chunks: int, seed: int = 0, *, words: bool = True) -> Iterator[Block]:
    """Make the first so many chunks of a collection, block by block; without words where told."""
    for number, first in enumerate(range(0, chunks, BLOCK)):
        n = min(BLOCK, chunks - first)
        rng = np.random.default_rng([seed, number])
        clusters = rng.integers(0, CLUSTERS, BLOCK // PER_DOCUMENT).repeat(PER_DOCUMENT)
        near, random = (
            rng.integers(0, limit, BLOCK // PER_DOCUMENT).repeat(PER_DOCUMENT)
            for limit in (_EACH, BELOW)
        )
        numbers = {"near": (clusters * _EACH + near)[:n], "random": random[:n]}
        made = zipf.make(BLOCK if words else 0, seed=seed * 1_000_003 + number)
        starts = made.starts[: n + 1]
        kept = zipf.Corpus(made.terms[: starts[-1]], starts)
        yield Block(first, _vectors(rng, clusters)[:n], kept, numbers)


def questions(count: int) -> Vectors:
    """Draw vectors of questions from where the chunks' come from, shape (count, 384)."""
    rng = np.random.default_rng(9)
    return _vectors(rng, rng.integers(0, CLUSTERS, count))


def word_questions(count: int) -> list[list[str]]:
    """Draw questions of 2 to 8 words of one chunk that every collection has."""
    return zipf.questions(next(blocks(10_000)).words, count)


def _vectors(rng: np.random.Generator, clusters: NDArray[np.int64]) -> Vectors:
    centres, mixing = _space()
    shape = (len(clusters), _LATENT)
    latent = centres[clusters] + rng.standard_normal(shape, np.float32) * np.float32(0.7)
    rows: Vectors = latent @ mixing
    rows += rng.standard_normal(rows.shape, np.float32) * np.float32(0.2)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


@cache
def _space() -> tuple[Vectors, Vectors]:
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((CLUSTERS, _LATENT), np.float32)
    mixing = rng.standard_normal((_LATENT, DIMENSION), np.float32) / np.float32(_LATENT**0.5)
    return centres, mixing


@cache
def _vocabulary() -> list[str]:
    return [zipf.word(number) for number in range(zipf.VOCABULARY)]
