"""A database of ragkit's loaded with drawn vectors, and what loading it cost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.drawn import DIMENSION, PER_DOCUMENT, Drawn, draw
from benchmarks.homes import home, once, refuse_half_loaded
from ragkit.store.connection.connect import connect, open_pool
from ragkit.store.connection.migrate import migrate
from ragkit.store.postgres import PostgresStore
from ragkit.store.server.embedded import EmbeddedServer
from ragkit.store.vectors import Layout
from ragkit.types import Chunk, EmbeddingSpace, NewDocument

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

SPACE = EmbeddingSpace("drawn", "1", DIMENSION)
COLLECTION = "c"
BATCH = 200  # documents in a transaction


@dataclass(frozen=True, slots=True)
class Loaded:
    """An open store of the drawn rows, whose chunk ids count from 1 in the order of the rows.

    `noted`: the seconds of `stored` and `indexed`.
    """

    url: str
    home: Path
    pool: ConnectionPool[Connection[Any]]
    store: PostgresStore
    drawn: Drawn
    noted: dict[str, Any]


@contextmanager
def loaded(rows: int) -> Iterator[Loaded]:
    """Load so many drawn rows into a database of one's own, its vectors indexed by HNSW."""
    with home(f"dense-{rows}") as folder, EmbeddedServer.open(folder) as server:
        with connect(server.url) as conn:
            migrate(conn)
        pool = open_pool(server.url, max_size=20)
        try:
            store = PostgresStore(pool, durable=False, layout=Layout(index="hnsw"))
            drawn = draw(rows, folder / "drawn")
            noted = once(folder, "loaded", lambda: _load(server.url, store, drawn))
            yield Loaded(server.url, folder, pool, store, drawn, noted)
        finally:
            pool.close()


def document(i: int, metadata: dict[str, str]) -> NewDocument:
    """Make the i-th document, of ten chunks of one word each."""
    chunks = tuple(Chunk(n, 5 * n, 5 * n + 4, tokens=1) for n in range(PER_DOCUMENT))
    uri = f"u{i:07}"  # stored by URI: chunks have the order of the rows
    return NewDocument(uri, "1", "f", "word " * PER_DOCUMENT, chunks, metadata=metadata)


def _load(url: str, store: PostgresStore, drawn: Drawn) -> dict[str, Any]:
    refuse_half_loaded(store, drawn.folder.parent)
    store.create_collection(COLLECTION)
    began = time.perf_counter()
    documents = len(drawn.rows) // PER_DOCUMENT
    for start in range(0, documents, BATCH):
        batch = range(start, min(documents, start + BATCH))
        store.put_documents(COLLECTION, [_entry(drawn, i) for i in batch], SPACE)
        if start % 10_000 == 0:
            print(
                f"  {start * PER_DOCUMENT:,} rows: {time.perf_counter() - began:.0f} s", flush=True
            )
    stored = time.perf_counter()
    store.finish_load(COLLECTION, SPACE)
    indexed = time.perf_counter()
    with connect(url) as conn:
        conn.execute("VACUUM ANALYZE")
    return {"stored": stored - began, "indexed": indexed - stored}


def _entry(drawn: Drawn, i: int) -> Any:
    metadata = {name: f"{numbers[i]:04}" for name, numbers in drawn.numbers.items()}
    return document(i, metadata), drawn.rows[i * PER_DOCUMENT : (i + 1) * PER_DOCUMENT]
