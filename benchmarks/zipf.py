"""Zipf text of any size, as numbers of terms, so that words' frequencies are those of language."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

VOCABULARY: Final = 300_000
MEAN_TERMS: Final = 100
DRAWN: Final = 5_000_000  # terms at once


@dataclass(frozen=True, slots=True)
class Corpus:
    """Chunks of term numbers: all in one array, and where each chunk begins."""

    terms: NDArray[np.int32]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __iter__(self) -> Iterator[list[int]]:
        return (self.chunk(number).tolist() for number in range(len(self)))

    def chunk(self, number: int) -> NDArray[np.int32]:
        return self.terms[self.starts[number] : self.starts[number + 1]]

    def words(self, number: int) -> list[str]:
        return [word(term) for term in self.chunk(number).tolist()]


def make(chunks: int, seed: int = 0) -> Corpus:
    """Draw chunks of about 100 terms; a term's probability falls as 1 / (rank + 2.7)."""
    rng = np.random.default_rng(seed)
    lengths = np.clip(rng.lognormal(np.log(MEAN_TERMS) - 0.08, 0.4, chunks), 5, 512).astype(int)
    weights = 1 / (np.arange(VOCABULARY) + 2.7)
    edges = np.cumsum(weights / weights.sum())
    terms = np.empty(lengths.sum(), np.int32)
    for first in range(0, len(terms), DRAWN):
        some = terms[first : first + DRAWN]
        some[:] = np.minimum(np.searchsorted(edges, rng.random(len(some))), VOCABULARY - 1)
    return Corpus(terms, np.append(0, np.cumsum(lengths)))


def questions(corpus: Corpus, number: int, seed: int = 1) -> list[list[str]]:
    """Draw questions of 2 to 8 words that stand together in some chunk, frequent ones and all."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(number):
        chunk = corpus.chunk(int(rng.integers(len(corpus))))
        terms = rng.choice(chunk, min(len(chunk), rng.integers(2, 9)))
        found.append([word(term) for term in terms])
    return found


def word(number: int | np.integer) -> str:
    """Spell a term so that neither stemmer nor tokenizer changes it."""
    return f"w{number}x"
