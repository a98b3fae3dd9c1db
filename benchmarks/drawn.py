"""Made-up vectors for speed alone: 200 clusters in 32 directions, spread over 384 with some noise.

Chunks belong to documents of ten, each with two numbers below 10,000 to filter by: `random` has
nothing to do with the vectors, `near` goes with them. Knows nothing of stores.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ragkit.contracts import Vectors

DIMENSION = 384
PER_DOCUMENT = 10
BELOW = 10_000  # the documents' numbers
QUERIES = 40
BLOCK = 50_000  # rows made at once


@dataclass(frozen=True, slots=True)
class Drawn:
    """Unit vectors, shape (n, 384), queries near some of them, and the numbers of documents."""

    folder: Path
    rows: Vectors
    queries: Vectors
    numbers: dict[str, NDArray[np.int64]]

    def passing(self, field: str | None, below: int) -> NDArray[np.bool_]:
        """Tell of each row whether its document's number is below; without a field all pass."""
        if field is None:
            return np.ones(len(self.rows), bool)
        return np.repeat(self.numbers[field] < below, PER_DOCUMENT)

    def nearest(self, field: str | None, below: int, k: int) -> list[set[int]]:
        """Find the k nearest rows of each query among those that pass, by comparing all."""
        among = np.flatnonzero(self.passing(field, below))
        k = min(k, len(among))
        likeness = self.likeness()
        best = [np.argpartition(-row[among], k - 1)[:k] for row in likeness]
        return [{int(row) for row in among[places]} for places in best]

    def likeness(self) -> Vectors:
        """Compare every query with every row, shape (queries, n); kept beside the vectors."""
        path = self.folder / "likeness.npy"
        if not path.exists():
            part = path.with_suffix(".part")
            found = np.lib.format.open_memmap(
                part, "w+", np.float32, (len(self.queries), len(self.rows))
            )
            for first in range(0, len(self.rows), BLOCK):
                found[:, first : first + BLOCK] = self.queries @ self.rows[first : first + BLOCK].T
            found.flush()
            part.rename(path)
        kept: Vectors = np.load(path, mmap_mode="r")
        return kept


def draw(n: int, folder: Path) -> Drawn:
    """Make n rows, sorted by cluster, and what belongs to them; kept as files for the peers."""
    folder.mkdir(parents=True, exist_ok=True)
    documents = n // PER_DOCUMENT
    near = np.arange(documents) * BELOW // documents
    numbers = {"near": near, "random": np.random.default_rng(3).permutation(near)}
    path = folder / "vectors.npy"
    rows = np.load(path, mmap_mode="r") if path.exists() else vectors(n, path)
    rng = np.random.default_rng(5)
    queries = rows[rng.integers(0, n, QUERIES)]
    queries = _unit(queries + rng.normal(size=queries.shape).astype(np.float32) * np.float32(0.02))
    np.save(folder / "queries.npy", queries)
    for field, of_documents in numbers.items():
        np.save(folder / f"{field}.npy", np.repeat(of_documents, PER_DOCUMENT))
    return Drawn(folder, rows, queries, numbers)


def vectors(n: int, path: Path, seed: int = 0) -> Vectors:
    """Draw unit vectors into a file, shape (n, 384), sorted by cluster; read from it as needed."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(200, 32))[np.sort(rng.integers(0, 200, n))]
    latent += rng.normal(size=(n, 32)) * 0.7
    mixing = rng.normal(size=(32, DIMENSION)) / 32**0.5
    part = path.with_suffix(".part")  # a file by its own name is whole
    rows = np.lib.format.open_memmap(part, "w+", np.float32, (n, DIMENSION))
    for first in range(0, n, BLOCK):
        block = (latent[first : first + BLOCK] @ mixing).astype(np.float32)
        block += rng.normal(size=block.shape).astype(np.float32) * np.float32(0.2)
        rows[first : first + BLOCK] = _unit(block)
    rows.flush()
    part.rename(path)
    read: Vectors = np.load(path, mmap_mode="r")
    return read


def _unit(rows: Vectors) -> Vectors:
    unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit
