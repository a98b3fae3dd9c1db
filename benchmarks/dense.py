"""Dense search at 10k and 100k rows, with and without filters, against raw SQL on the same table.

The vectors are drawn: 200 clusters in 32 directions, spread over 384 dimensions with some noise.
A system is what `systems` yields: a name and a search of one query; others can join there.
"""

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ragkit.filters import Filter, parse
from ragkit.store.connect import connect, open_pool
from ragkit.store.embedded import EmbeddedServer, stop
from ragkit.store.migrate import migrate
from ragkit.store.postgres import PostgresStore
from ragkit.store.vectors import Layout
from ragkit.types import Chunk, EmbeddingSpace, NewDocument

if TYPE_CHECKING:
    from ragkit.contracts import Vectors

SPACE = EmbeddingSpace("drawn", "1", 384)
PER_DOCUMENT = 10
QUERIES = 40
K = 10
SHARES = (0.001, 0.01, 0.1, 0.5)
Search = Callable[["Vectors", str | None, int], list[int]]

_RAW = """
    SELECT v.chunk_id FROM vectors_1 v WHERE v.generation <= 1 {where}
    ORDER BY v.embedding <=> %s::halfvec LIMIT 10
"""
_IN = """AND v.document_id IN (SELECT d.id FROM document d WHERE d.tenant = 'default'
    AND d.collection_id = 1 AND d.metadata ->> '{field}' < '{below:04}')"""
_EXISTS = """AND EXISTS (SELECT FROM document d WHERE d.tenant = 'default'
    AND d.id = v.document_id AND d.metadata ->> '{field}' < '{below:04}')"""


@dataclass(frozen=True, slots=True)
class Filled:
    """A loaded store: rows in the order of their chunks, and each document's two numbers."""

    url: str
    store: PostgresStore
    rows: "Vectors"
    queries: "Vectors"
    numbers: dict[str, "np.ndarray[Any, np.dtype[np.int64]]"]
    loading: str


def run() -> str:
    """Measure at 10k and 100k rows, or at the sizes named by BENCH_ROWS."""
    sizes = [int(size) for size in os.environ.get("BENCH_ROWS", "10000 100000").split()]
    parts = [
        "## Dense search\n",
        f"{SPACE.dimension} dimensions in half precision, k = {K}, {QUERIES} queries that are"
        " stored vectors with some noise, systems interleaved, milliseconds at the median (95th"
        " percentile). ragkit: one snapshot, its routing and the search, on a pool's connection."
        " Raw SQL: one statement on an open connection, whose settings were made before: HNSW"
        " with the same ef_search, or the exact plan; with a filter the better of both is what"
        " ragkit is compared with. Filters are on metadata of documents of 10 chunks: `random`"
        " has nothing to do with the vectors, `near` lets through whole clusters.\n",
    ]
    for size in sizes:
        with filled(size) as store:
            parts.append(_section(store))
            print(parts[-1], flush=True)
    return "\n".join(parts)


@contextmanager
def filled(rows: int) -> Iterator[Filled]:
    """Load drawn vectors into a database of one's own."""
    home = Path(tempfile.mkdtemp(prefix="ragkit-bench-"))
    try:
        with EmbeddedServer.open(home) as server:
            with connect(server.url) as conn:
                migrate(conn)
            pool = open_pool(server.url)
            try:
                store = PostgresStore(pool, durable=False, layout=Layout(index="hnsw"))
                yield _load(server.url, store, rows)
            finally:
                pool.close()
    finally:
        stop(home)
        shutil.rmtree(home)


def drawn(n: int, seed: int = 0) -> "Vectors":
    """Draw unit vectors, shape (n, dimension), sorted by cluster."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(200, 32))[np.sort(rng.integers(0, 200, n))]
    latent += rng.normal(size=(n, 32)) * 0.7
    found = (latent @ rng.normal(size=(32, SPACE.dimension)) / 32**0.5).astype(np.float32)
    found += rng.normal(size=found.shape).astype(np.float32) * np.float32(0.2)
    unit: Vectors = found / np.linalg.norm(found, axis=1, keepdims=True)
    return unit


def _load(url: str, store: PostgresStore, n: int) -> Filled:
    rows = drawn(n)
    documents = n // PER_DOCUMENT
    near = np.arange(documents) * 10_000 // documents
    numbers = {"near": near, "random": np.random.default_rng(3).permutation(near)}
    store.create_collection("c")
    began = time.perf_counter()
    for start in range(0, documents, 200):
        batch = range(start, min(documents, start + 200))
        entries = [
            (
                _document(i, {name: f"{numbers[name][i]:04}" for name in numbers}),
                rows[i * PER_DOCUMENT : (i + 1) * PER_DOCUMENT],
            )
            for i in batch
        ]
        store.put_documents("c", entries, SPACE)
    stored = time.perf_counter()
    store.finish_load("c", SPACE)
    indexed = time.perf_counter()
    said = (
        f"stored in {stored - began:.1f} s ({n / (stored - began):,.0f} rows/s, with documents and"
        f" words), indexed in {indexed - stored:.1f} s ({n / (indexed - stored):,.0f} rows/s)"
    )
    with connect(url) as conn:
        conn.execute("VACUUM ANALYZE")
    rng = np.random.default_rng(5)
    queries = rows[rng.integers(0, n, QUERIES)]
    queries = queries + rng.normal(size=queries.shape).astype(np.float32) * np.float32(0.02)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    return Filled(url, store, rows, queries, numbers, said)


def _document(i: int, metadata: dict[str, str]) -> NewDocument:
    chunks = tuple(Chunk(n, 5 * n, 5 * n + 4, tokens=1) for n in range(PER_DOCUMENT))
    uri = f"u{i:07}"  # stored by URI: chunks have the order of the rows
    text = "word " * PER_DOCUMENT
    return NewDocument(uri, "1", "f", text, chunks, metadata=metadata)


def _section(store: Filled) -> str:
    n = len(store.rows)
    lines = [
        f"### {n:,} rows\n",
        f"{store.loading.capitalize()}. {_inserts(store)}\n",
        "| filter | matching | ragkit | recall | raw SQL, HNSW | recall | raw SQL, exact"
        " | ragkit / better |",
        "|---|---|---|---|---|---|---|---|",
    ]
    with systems(store) as searches:
        lines.append(_row(store, searches, None, 10_000))
        for field in store.numbers:
            for share in SHARES:
                lines.append(_row(store, searches, field, int(10_000 * share)))
                print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


@contextmanager
def systems(store: Filled) -> Iterator[dict[str, Search]]:
    """Open what is compared: each takes a query, a field or None, and the number to be below."""
    with connect(store.url) as walking, connect(store.url) as comparing:
        walking.execute("SET hnsw.iterative_scan = relaxed_order; SET hnsw.ef_search = 100;")
        walking.execute("SET enable_sort = off")
        comparing.execute("SET enable_indexscan = off")

        def ragkit(query: "Vectors", field: str | None, below: int) -> list[int]:
            where = _where(field, below)
            with store.store.snapshot() as reader:
                return [chunk for chunk, _ in reader.nearest("c", SPACE, query, K, where)]

        def raw(conn: Any, how: str) -> Search:
            def search(query: "Vectors", field: str | None, below: int) -> list[int]:
                where = "" if field is None else how.format(field=field, below=below)
                text = "[" + ",".join(map(str, query.tolist())) + "]"
                return [row[0] for row in conn.execute(_RAW.format(where=where), (text,))]

            return search

        yield {
            "ragkit": ragkit,
            "walk": raw(walking, _EXISTS),
            "exact": raw(comparing, _IN),
        }


def _where(field: str | None, below: int) -> Filter | None:
    return None if field is None else parse({"lt": {field: f"{below:04}"}})


def _row(store: Filled, searches: dict[str, Search], field: str | None, below: int) -> str:
    timings = {name: list[float]() for name in searches}
    recalls = {name: list[float]() for name in searches}
    for n, query in enumerate(store.queries):
        true = _true(store, query, field, below)
        for name in np.roll(list(searches), n):
            began = time.perf_counter()
            found = searches[name](query, field, below)
            timings[name].append((time.perf_counter() - began) * 1000)
            assert name == "walk" or len(found) == min(K, len(true)), "k rows when k exist"
            recalls[name].append(len(set(found) & true) / len(true))
    p50 = {name: statistics.median(times) for name, times in timings.items()}
    recall = {name: statistics.mean(shares) for name, shares in recalls.items()}
    better = min(p50[name] for name in ("walk", "exact") if recall[name] >= 0.98)
    cell = {name: f"{p50[name]:.2f} ({np.percentile(timings[name], 95):.2f})" for name in p50}
    label = "none" if field is None else f"{field} {below / 10_000:.1%}"
    matching = _matching(store, field, below)
    return (
        f"| {label} | {matching:,} | {cell['ragkit']} | {recall['ragkit']:.3f} | {cell['walk']}"
        f" | {recall['walk']:.3f} | {cell['exact']} | {p50['ragkit'] / better:.2f} |"
    )


def _passing(store: Filled, field: str | None, below: int) -> "np.ndarray[Any, np.dtype[np.int64]]":
    if field is None:
        return np.arange(len(store.rows))
    return np.flatnonzero(np.repeat(store.numbers[field], PER_DOCUMENT) < below)


def _matching(store: Filled, field: str | None, below: int) -> int:
    return len(_passing(store, field, below))


def _true(store: Filled, query: "Vectors", field: str | None, below: int) -> set[int]:
    """Find the chunks of the k nearest rows; chunk ids count from 1 in the order of the rows."""
    among = _passing(store, field, below)
    nearest = np.argpartition(-(store.rows[among] @ query), min(K, len(among) - 1))[:K]
    return {int(row) + 1 for row in among[nearest]}


def _inserts(store: Filled) -> str:
    """Time steady inserts of documents, and of bare rows into a table with its HNSW in place."""
    rows = drawn(2_000, seed=8)
    began = time.perf_counter()
    for n, start in enumerate(range(0, len(rows), PER_DOCUMENT)):
        own = rows[start : start + PER_DOCUMENT]
        metadata = {"near": "9999", "random": "9999"}
        store.store.put_documents("c", [(_document(9_000_000 + n, metadata), own)], SPACE)
    whole = len(rows) / (time.perf_counter() - began)
    with connect(store.url) as conn, conn.transaction(force_rollback=True):
        conn.execute("CREATE TEMP TABLE fresh AS SELECT * FROM vectors_1 WHERE generation > 1")
        outside, inside = _rate(conn, 2), _rate(conn, 1)
    with connect(store.url) as conn:
        conn.execute("DELETE FROM document WHERE uri >= 'u9000000'")
        conn.execute("VACUUM ANALYZE")
    return (
        f"Steady writes: {whole:,.0f} rows/s as documents of {PER_DOCUMENT} chunks, each a"
        f" transaction; the vectors alone {outside:,.0f} rows/s outside the index, as they are"
        f" written, and {inside:,.0f} rows/s into it, as they are merged:"
        f" {outside / inside:.0f} times."
    )


def _rate(conn: Any, generation: int) -> float:
    """Write the fresh rows again, of one generation; return rows a second."""
    conn.execute("DELETE FROM vectors_1 v USING fresh f WHERE v.chunk_id = f.chunk_id")
    conn.execute("UPDATE fresh SET generation = %s", (generation,))
    began = time.perf_counter()
    rows = conn.execute("INSERT INTO vectors_1 SELECT * FROM fresh").rowcount
    return float(rows / (time.perf_counter() - began))
