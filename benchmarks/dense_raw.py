"""ragkit's dense search against raw SQL on the same table, and the rate of steady inserts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import footprint
from benchmarks.drawn import BELOW, PER_DOCUMENT, vectors
from benchmarks.loaded import COLLECTION, SPACE, Loaded, document
from ragkit.filters.tree import Filter, parse
from ragkit.store.connection.connect import connect
from ragkit.store.vectors.packed import Packed, register

if TYPE_CHECKING:
    from ragkit.contracts import Vectors

K = 10
CASES = [
    (None, 1.0),
    *((field, s) for field in ("near", "random") for s in (0.001, 0.01, 0.1, 0.5)),
]
Search = Callable[["Vectors", str | None, int], list[int]]  # query, field, below: rows

_WALK = """
    SELECT v.chunk_id FROM vectors_1 v WHERE v.generation <= 1 {where}
    ORDER BY v.embedding <=> %b::halfvec LIMIT 10
"""
# OFFSET 0 keeps the planner from walking the index; all else is its own choice.
_EXACT = """
    SELECT chunk_id FROM (SELECT v.chunk_id, v.embedding <=> %b::halfvec AS distance
        FROM vectors_1 v WHERE v.generation <= 1 {where} OFFSET 0) AS v
    ORDER BY distance LIMIT 10
"""
_IN = """AND v.document_id IN (SELECT d.id FROM document d WHERE d.tenant = 'default'
    AND d.collection_id = 1 AND d.metadata ->> '{field}' < '{below:04}')"""
_EXISTS = """AND EXISTS (SELECT FROM document d WHERE d.tenant = 'default'
    AND d.id = v.document_id AND d.metadata ->> '{field}' < '{below:04}')"""


def measure(loaded: Loaded) -> dict[str, Any]:
    """Ask ragkit and both raw statements in turn, with every filter; note sizes and inserts."""
    before = footprint.own_memory()
    own = ragkit(loaded)
    for query in loaded.drawn.queries:  # warms up
        own(query, None, BELOW)
    memory = footprint.own_memory() - before
    with _systems(loaded) as searches:
        cases = [_case(loaded, searches, field, share) for field, share in CASES]
    with connect(loaded.url) as conn:
        disk = footprint.disk(conn, footprint.VECTORS)
    return {
        **loaded.noted,
        "cases": cases,
        "disk": disk,
        "memory": memory + footprint.server_memory(loaded.home),
        "inserts": _inserts(loaded),
    }


def ragkit(loaded: Loaded) -> Search:
    """Return ragkit's search: a snapshot of its own for each query."""

    def search(query: Vectors, field: str | None, below: int) -> list[int]:
        where: Filter | None = None if field is None else parse({"lt": {field: f"{below:04}"}})
        with loaded.store.snapshot() as reader:
            found = reader.nearest(COLLECTION, SPACE, query, K, where)
            return [chunk - 1 for chunk, _ in found]

    return search


@contextmanager
def _systems(loaded: Loaded) -> Iterator[dict[str, Search]]:
    with connect(loaded.url) as walking, connect(loaded.url) as comparing:
        walking.execute("SET hnsw.iterative_scan = relaxed_order; SET hnsw.ef_search = 100;")
        walking.execute("SET enable_sort = off")
        yield {
            "ragkit": ragkit(loaded),
            "walk": _raw(walking, _WALK, _EXISTS),
            "exact": _raw(comparing, _EXACT, _IN),
        }


def _raw(conn: Any, statement: str, how: str) -> Search:
    """Prepared, its vector in binary, as ragkit's own are."""
    register(conn)

    def search(query: Vectors, field: str | None, below: int) -> list[int]:
        where = "" if field is None else how.format(field=field, below=below)
        vector = Packed(len(query).to_bytes(2, "big") + b"\0\0" + query.astype(">f2").tobytes())
        rows = conn.execute(statement.format(where=where), (vector,), prepare=True)
        return [row[0] - 1 for row in rows]

    return search


def _case(
    loaded: Loaded, searches: dict[str, Search], field: str | None, share: float
) -> dict[str, Any]:
    below = round(BELOW * share)
    seconds = {name: list[float]() for name in searches}
    recalls = {name: list[float]() for name in searches}
    truth = loaded.drawn.nearest(field, below, K)
    turns = np.random.default_rng(0)  # no system always follows the same one, which warms its pages
    for query, true in zip(loaded.drawn.queries, truth, strict=True):
        for name in turns.permutation(list(searches)):
            began = time.perf_counter()
            found = searches[name](query, field, below)
            seconds[name].append(time.perf_counter() - began)
            assert name == "walk" or len(found) == len(true), "k rows when k exist"
            recalls[name].append(len(set(found) & true) / len(true))
    case = {
        "field": field,
        "share": share,
        "matching": int(loaded.drawn.passing(field, below).sum()),
        "p50": {name: median(times) for name, times in seconds.items()},
        "p95": {name: float(np.percentile(times, 95)) for name, times in seconds.items()},
        "recall": {name: fmean(shares) for name, shares in recalls.items()},
    }
    print(f"  {field} {share:.1%}: {case['p50']} {case['recall']}", flush=True)
    return case


def _inserts(loaded: Loaded) -> dict[str, float]:
    """Time documents, each a transaction, and bare rows outside and inside the index."""
    with TemporaryDirectory() as folder:
        rows = np.array(vectors(2_000, Path(folder, "rows.npy"), seed=8))
    began = time.perf_counter()
    for n, start in enumerate(range(0, len(rows), PER_DOCUMENT)):
        own = rows[start : start + PER_DOCUMENT]
        fresh = document(9_000_000 + n, {"near": "9999", "random": "9999"})
        loaded.store.put_documents(COLLECTION, [(fresh, own)], SPACE)
    whole = len(rows) / (time.perf_counter() - began)
    with connect(loaded.url) as conn, conn.transaction(force_rollback=True):
        conn.execute("CREATE TEMP TABLE fresh AS SELECT * FROM vectors_1 WHERE generation > 1")
        outside, inside = _rate(conn, 2), _rate(conn, 1)
    with connect(loaded.url) as conn:
        conn.execute("DELETE FROM document WHERE uri >= 'u9000000'")
        conn.execute("VACUUM ANALYZE")
    return {"documents": whole, "outside": outside, "inside": inside}


def _rate(conn: Any, generation: int) -> float:
    """Write the fresh rows again, of one generation; return rows a second."""
    conn.execute("DELETE FROM vectors_1 v USING fresh f WHERE v.chunk_id = f.chunk_id")
    conn.execute("UPDATE fresh SET generation = %s", (generation,))
    began = time.perf_counter()
    rows = conn.execute("INSERT INTO vectors_1 SELECT * FROM fresh").rowcount
    return float(rows / (time.perf_counter() - began))
