"""Made-up documents of many tenants in one database: stored and searched by threads, with a clock.

Which server the database is on is not known here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import TYPE_CHECKING

from benchmarks.corpus import DOCUMENTS_PER_BATCH, Asked, Corpus, Precomputed
from ragkit.retrieve.search import HybridRetriever
from ragkit.store.open import Database
from ragkit.store.postgres import PostgresStore

if TYPE_CHECKING:
    from ragkit.contracts import Vectors
    from ragkit.types import NewDocument

    Entries = Sequence[tuple[NewDocument, Vectors]]

COLLECTION = "made-up"
WRITERS = 2
READERS = 4
K = 10


class Load:
    """A database with a collection for each tenant, which begins empty."""

    def __init__(
        self, database: Database, corpus: Corpus, queries: Sequence[Asked], tenants: int
    ) -> None:
        self.stores = [database.store(tenant_name(number)) for number in range(tenants)]
        self._space = corpus.space
        self._queries = queries
        embedder = Precomputed(corpus.space, queries)
        self._retrievers = [
            HybridRetriever(store, embedder, COLLECTION, "hybrid") for store in self.stores
        ]
        for store in self.stores:
            store.create_collection(COLLECTION)

    def put(self, entries: Entries) -> float:
        """Store documents, dealt out to the tenants in turn; return how many a second."""
        began = time.perf_counter()
        run_threads(lambda number: self._put(entries, number), WRITERS)
        return len(entries) / (time.perf_counter() - began)

    def put_one(self, number: int, document: NewDocument, vectors: Vectors) -> None:
        """Store the document of a number with the tenant whose turn it is."""
        self.store_of(number).put_document(COLLECTION, document, self._space, vectors)

    def put_bulk(self, entries: Entries) -> None:
        """Store documents as `put` does, many of a tenant in one transaction."""
        for number, store in enumerate(self.stores):
            dealt = entries[number :: len(self.stores)]
            for first in range(0, len(dealt), DOCUMENTS_PER_BATCH):
                batch = dealt[first : first + DOCUMENTS_PER_BATCH]
                store.put_documents(COLLECTION, batch, self._space)

    def finish(self) -> None:
        """Build the index of vectors, which is all tenants', and renew the tables' statistics.

        The words of the first tenant alone are merged: a hundred times the statistics take minutes.
        """
        self.stores[0].finish_load(COLLECTION, self._space)

    def search(self, seconds: float, first: int = 0) -> list[float]:
        """Search the tenants in turn for a while; return the seconds of each search."""
        end = time.perf_counter() + seconds
        parts: list[list[float]] = [[] for _ in range(READERS)]
        run_threads(lambda number: self._search(first + number, end, parts[number]), READERS)
        return [each for part in parts for each in part]

    def search_one(self, tenant: int, turn: int) -> float:
        """Search one tenant; return the seconds."""
        began = time.perf_counter()
        self._retrievers[tenant].search(self._queries[turn % len(self._queries)].text, k=K)
        return time.perf_counter() - began

    def store_of(self, number: int) -> PostgresStore:
        return self.stores[number % len(self.stores)]

    def _put(self, entries: Entries, writer: int) -> None:
        for number in range(writer, len(entries), WRITERS):
            self.put_one(number, *entries[number])

    def _search(self, first: int, end: float, times: list[float]) -> None:
        for turn in count(first, READERS):
            if time.perf_counter() >= end:
                return
            times.append(self.search_one(turn % len(self._retrievers), turn))


def tenant_name(number: int) -> str:
    return f"t{number}"


def run_threads(work: Callable[[int], None], threads: int) -> None:
    """Let threads work, each with its number, to the end of all; raise what one of them raised."""
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
