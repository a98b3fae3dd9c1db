"""Vectors and stores for the tests of searching by vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from psycopg import Connection
from psycopg_pool import ConnectionPool

from ragkit.store.connection.connect import open_pool
from ragkit.types import Chunk, NewDocument
from tests.databases import Databases

if TYPE_CHECKING:
    from ragkit.contracts import Vectors

Pool = ConnectionPool[Connection[Any]]


@contextmanager
def pool_of(databases: Databases) -> Iterator[Pool]:
    """Open a database with ragkit's tables, which is emptied afterwards."""
    with databases.take() as url:
        pool = open_pool(url)
        try:
            yield pool
        finally:
            pool.close()


def clustered(n: int, dimension: int, *, seed: int = 0, clusters: int = 50) -> Vectors:
    """Draw unit vectors in clusters, of 24 directions and a little noise; sorted by cluster."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(clusters, 24))[np.sort(rng.integers(0, clusters, n))]
    latent += rng.normal(size=(n, 24)) * 0.7
    drawn = latent @ np.random.default_rng(1).normal(size=(24, dimension)) / 24**0.5
    drawn += rng.normal(size=(n, dimension)) * 0.2
    return normalised(drawn.astype(np.float32))


def normalised(vectors: Vectors) -> Vectors:
    unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def document(uri: str, chunks: int = 1, **metadata: str) -> NewDocument:
    """Make a document of so many chunks of one word each."""
    return NewDocument(
        uri=uri,
        content_hash="1",
        fingerprint="f",
        text="word " * chunks,
        chunks=tuple(Chunk(n, 5 * n, 5 * n + 4, tokens=1) for n in range(chunks)),
        metadata=metadata,
    )


def halved(vectors: Vectors) -> Vectors:
    """Round as half precision does."""
    return normalised(vectors.astype(np.float16).astype(np.float32))


def nearest_of(query: Vectors, rows: Vectors, among: Sequence[int], k: int) -> list[int]:
    """Find the k rows of highest cosine, as half precision has them; ties by number."""
    order = np.argsort(-(rows[list(among)] @ query), kind="stable")[:k]
    return [among[int(i)] for i in order]
