"""A database of millions of made-up chunks with words and rights, and a small tenant beside them.

Everything is written by the store's own statements, 50,000 chunks in a transaction, and committed
without waiting for the disk. Vectors are indexed afterwards, all at once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks import footprint
from benchmarks.homes import home, once, refuse_half_loaded
from benchmarks.large_corpus import DIMENSION, Block, blocks
from ragkit.settings.settings import Settings
from ragkit.store import vectors
from ragkit.store.connection.transactions import lent
from ragkit.store.documents import documents, write
from ragkit.store.open import Database, open_database
from ragkit.store.postgres import PostgresStore
from ragkit.store.session import open_session
from ragkit.store.vectors import Layout
from ragkit.store.vectors.active_space import bind
from ragkit.store.words import postings
from ragkit.text.analysers import analyser, name_from
from ragkit.types import EmbeddingSpace, NewDocument

COLLECTION: Final = "large"
SPACE: Final = EmbeddingSpace("made up", "1", DIMENSION)
LARGE, SMALL = "default", "small"  # tenants
SMALL_CHUNKS: Final = 10_000
SMALL_SEED: Final = 1
READER: Final = ("user:ada", "group:0")  # may read what is not limited, and what group:0 may
Made = tuple[Block, list[NewDocument]]
_SAMPLE_S: Final = 10.0
_NEAREST: Final = """
    SELECT indexrelid::regclass::text, pg_relation_size(indexrelid) FROM pg_index
    WHERE indrelid = 'vectors_1'::regclass AND indexrelid::regclass::text ~ 'nearest'
"""
# One document in ten is limited to one of 100 groups.
_LIMIT: Final = """
    UPDATE document SET readers = ARRAY['group:' || id / 10 % 100]
    WHERE tenant = 'default' AND id % 10 = 0
"""


@dataclass(frozen=True, slots=True)
class LargeHome:
    """The open database in `home`; chunks of the large tenant are numbered from 1, in their order.

    `noted`: the seconds and bytes of loading.
    """

    home: Path
    database: Database
    chunks: int
    noted: dict[str, Any]

    def store(self, tenant: str, *, limited: bool = False) -> PostgresStore:
        """Give a tenant's store, for an operator or for a reader who may not read everything."""
        return self.database.store(tenant, readers=READER if limited else None)

    def index(self, form: vectors.Type) -> dict[str, Any]:
        """Index the vectors in half precision or by bits; note seconds, memory and size."""
        return once(self.home, f"indexed-{form}", lambda: self._index(form))

    def _index(self, form: vectors.Type) -> dict[str, Any]:
        with self.database.owner() as conn:
            for name, _ in conn.execute(_NEAREST).fetchall():
                conn.execute(f"DROP INDEX {name}")  # the disk is to hold one at a time
            conn.execute("UPDATE vector_layout SET indexed = 0")
            with _peak(self.home) as peak:
                began = time.perf_counter()
                vectors.build_index(conn, SPACE, layout=Layout(type=form, index="hnsw"))
                seconds = time.perf_counter() - began
            conn.execute("VACUUM ANALYZE")
            ((_, size_bytes),) = conn.execute(_NEAREST).fetchall()
        (self.home / f"indexed-{'halfvec' if form == 'bit' else 'bit'}.json").unlink(True)
        return {"seconds": seconds, "peak": peak[0], "index": int(size_bytes)}


@contextmanager
def large_home(chunks: int) -> Iterator[LargeHome]:
    """Load so many chunks, and the small tenant's, unless the home is kept and has them."""
    with home(f"large-{chunks}") as folder, open_database(Settings(home=folder)) as database:
        noted = once(folder, "loaded", lambda: _load(database, chunks, folder))
        yield LargeHome(folder, database, chunks, noted)


def _load(database: Database, chunks: int, home: Path) -> dict[str, Any]:
    refuse_half_loaded(database.store(LARGE), home)
    with database.owner() as conn:
        vectors.ensure_space(conn, SPACE, Layout(index="none"))
    began = time.perf_counter()
    for block, made in _ahead((block, list(block.documents())) for block in blocks(chunks)):
        _write(database, LARGE, block, made)
        seconds = time.perf_counter() - began
        print(f"  {block.first + len(block.vectors):,} chunks: {seconds:.0f} s", flush=True)
    stored = time.perf_counter() - began
    for block in blocks(SMALL_CHUNKS, SMALL_SEED):
        _write(database, SMALL, block, list(block.documents()))
    with database.owner() as conn:
        conn.execute(_LIMIT)
        conn.execute("VACUUM ANALYZE")
        ends = conn.execute("SELECT min(id), max(id) FROM chunk WHERE tenant = 'default'")
        assert ends.fetchone() == (1, chunks), "chunks are numbered as they were made"
        for tenant in (LARGE, SMALL):
            vectors.tidy(conn, SPACE, tenant, _number(database, tenant))  # counts
        sizes = {
            name: footprint.disk(conn, getattr(footprint, name.upper()))
            for name in ("text", "vectors", "words")
        }
        sizes["metadata"] = footprint.disk(conn, ("metadata_key", "metadata_value"))
    return {"stored": stored, "bytes": sizes}


def _ahead(items: Iterator[Made]) -> Iterator[Made]:
    """Give items, each made by a thread while the one before is used."""
    with ThreadPoolExecutor(1) as thread:
        following = thread.submit(next, items, None)
        while (item := following.result()) is not None:
            following = thread.submit(next, items, None)
            yield item


def _write(
    database: Database, tenant: str, block: Block, new_documents: Sequence[NewDocument]
) -> None:
    """Write a block as one transaction, and merge the words' segments where that is due."""
    store = database.store(tenant)
    if not store.collections():
        store.create_collection(COLLECTION)
    with open_session(database.pool, tenant) as session:
        number, settings = documents.collection_row(session, COLLECTION)
        bind(session, number, 1, SPACE)
    name = name_from(settings)
    batch = write.Batch(new_documents, block.vectors, block.terms(), analyser(name))
    with open_session(database.pool, tenant, durable=False) as session:
        write.write(session, number, 1, batch)
    with lent(database.pool) as conn:
        postings.merge(conn, tenant, number)


def _number(database: Database, tenant: str) -> int:
    return database.store(tenant).collections()[0].id


@contextmanager
def _peak(home: Path) -> Iterator[list[int]]:
    """Give a list whose only number is the most memory that the server took meanwhile."""
    peak = [0]

    def look() -> None:
        peak[0] = max(peak[0], footprint.server_memory(home))

    with footprint.watched(_SAMPLE_S, look):
        yield peak
