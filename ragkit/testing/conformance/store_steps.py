"""The steps that the tests of a `Store` are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ragkit.types import Document, EmbeddingSpace, NewDocument

if TYPE_CHECKING:
    from ragkit.contracts import Store, Vectors
    from ragkit.text.postings import Postings

T = TypeVar("T")

SPACE = EmbeddingSpace("conformance-model", "1", 4)
OTHER_SPACES = (
    replace(SPACE, revision="2"),
    replace(SPACE, query_prefix="query: "),
    replace(SPACE, dimension=3),
)
HALF = 2e-3  # vectors may be kept in half precision

HOSTILE = (
    "x'; DROP TABLE collection; --",
    'a"b',
    "100% %s %(name)s",
    "{0} {name}",
    "back\\slash",
    "$1",
    "a/b/../c",
    "合同 🛩 café",
    "cafe\u0301",
    "café",
    "A",
    "a",
    "null",
)


def put(store: Store, collection: str, document: NewDocument, *, axis: int = 0) -> Document:
    """Store a document whose vectors all lie on one axis."""
    vectors = np.tile(unit(axis), (len(document.chunks), 1)).astype(np.float32)
    return store.put_document(collection, document, SPACE, vectors.reshape(-1, SPACE.dimension))


def unit(axis: int) -> Vectors:
    vector: Vectors = np.eye(SPACE.dimension, dtype=np.float32)[axis % SPACE.dimension]
    return vector


def nearest(store: Store, collection: str, k: int) -> list[tuple[int, float]]:
    with store.snapshot() as reader:
        return list(reader.nearest(collection, SPACE, unit(0), k))


def chunk_ids(store: Store, collection: str) -> list[int]:
    return [chunk for chunk, _ in nearest(store, collection, 1000)]


def postings(store: Store, collection: str, *terms: str) -> Postings:
    with store.snapshot() as reader:
        return reader.postings(collection, terms)


def terms_found(store: Store, collection: str, *terms: str) -> set[str]:
    return set(postings(store, collection, *terms).terms)


def hit_texts(store: Store, chunks: Sequence[int]) -> list[str]:
    with store.snapshot() as reader:
        return [hit.text for hit in reader.hits(chunks)]


def at_once(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Run the calls in threads that start together."""
    barrier = Barrier(len(calls))

    def run(call: Callable[[], T]) -> T:
        barrier.wait(timeout=30)
        return call()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(run, calls, timeout=60))
