"""Storing and searching on Citus: one node, and a coordinator with two workers, beside one server.

How long upkeep takes there, and what a killed worker costs, is measured by cluster_upkeep.py.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import TYPE_CHECKING

from benchmarks import cluster_upkeep
from benchmarks.cluster_load import READERS, WRITERS, K, Load
from benchmarks.cluster_nodes import ALONE, SHARDS, System, systems
from benchmarks.corpus import Asked, Corpus
from ragkit.store.open import open_database
from tests.citus import SOURCE, source

if TYPE_CHECKING:
    from benchmarks.cluster_load import Entries

TENANTS = (1, 16, 100)
ROUNDS = 4
TIMED_SHARE = 0.25  # of the documents, stored one in each transaction
SECONDS = 2.0  # of searching, each round
QUERIES = 300

TITLE = "## Citus"
LEFT_OUT = f"""{TITLE}

Left out in this run: {SOURCE} names no folder with Citus's source, so that no cluster can be made.
"""
HEAD = f"""{TITLE}

What distribution by tenant costs, not what it gains: all nodes share the cores of one machine, on
which a cluster can only be slower than one server. {{chunks:,}} made-up chunks as above, of 1, 16
and 100 tenants together, in documents of ten chunks. *One server* is the PostgreSQL 18 that ragkit
embeds; *Citus, one node* a coordinator that holds all {SHARDS} shards itself; the third a
coordinator without shards and two workers with {SHARDS // 2} each. All servers have the same
settings, not those that ragkit chooses for its own: fsync, synchronous_commit, full_page_writes and
jit off, 128 MB of shared buffers, wal_level logical; all are reached by TCP. Tenants are on:
row-level security binds the role that stores and searches.

*Documents/s*: {WRITERS} threads of one process put one document in each transaction, with vectors
and words, for the next tenant in turn: the last quarter of the documents, after the others were
stored in bulk. *Searches/s*: {READERS} threads of one process make hybrid searches for {K}
passages, each for the next tenant in turn, after the index of vectors was built, and the words of
the first tenant merged; vectors are given, so that no model runs. The systems take turns in
{ROUNDS} rounds: medians of the rounds, and medians of the ratios to one server in the same round.
*One search*: milliseconds over all rounds, p50 (p95).

| tenants | system | documents/s | of one server's | searches/s | of one server's | one search |
|---|---|---|---|---|---|---|
"""


@dataclass(slots=True)
class Measured:
    """A system's rounds: documents a second, searches a second, and the seconds of each search."""

    stored: list[float] = field(default_factory=list)
    searched: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def run() -> str:
    """Measure, and tabulate; say that it was left out where there is no Citus."""
    if source() is None:
        return LEFT_OUT
    corpus = Corpus(int(os.environ.get("BENCH_CLUSTER", "20000")))
    documents = list(corpus.documents())
    queries = corpus.queries(QUERIES)
    text = HEAD.format(chunks=corpus.chunks)
    with systems() as all_systems:
        for tenants in TENANTS:
            rows = _measure(all_systems, documents, queries, corpus, tenants)
            text += table(tenants, rows)
        text += cluster_upkeep.measure(all_systems[-1], documents, queries, corpus)
    return text


def table(tenants: int, rows: dict[str, Measured]) -> str:
    """Tabulate the systems' figures at a number of tenants, beside those of one server.

    >>> print(table(16, {"one server": Measured([10.0], [20.0], [0.001, 0.001])}), end="")
    | 16 | one server | 10 | 1.00 | 20 | 1.00 | 1.0 (1.0) |
    """
    alone, lines = rows[ALONE], []
    for name, row in rows.items():
        stored, searched = (
            f"{median(values):,.0f} | {_ratio(values, beside):.2f}"
            for values, beside in ((row.stored, alone.stored), (row.searched, alone.searched))
        )
        one = f"{1000 * median(row.seconds):.1f} ({1000 * quantiles(row.seconds, n=20)[-1]:.1f})"
        lines.append(f"| {tenants} | {name} | {stored} | {searched} | {one} |\n")
    return "".join(lines)


def _ratio(values: Sequence[float], beside: Sequence[float]) -> float:
    return median(value / other for value, other in zip(values, beside, strict=True))


def _measure(
    all_systems: Sequence[System],
    documents: Entries,
    queries: Sequence[Asked],
    corpus: Corpus,
    tenants: int,
) -> dict[str, Measured]:
    """Store the documents in every system, then search them, in rounds in which all take turns."""
    rows = {system.name: Measured() for system in all_systems}
    size = int(TIMED_SHARE * len(documents)) // ROUNDS
    bulk, timed = documents[: -ROUNDS * size], documents[-ROUNDS * size :]
    with ExitStack() as stack:
        loads = {}
        for system in all_systems:
            place = stack.enter_context(system.database())
            database = stack.enter_context(open_database(place.settings))
            loads[system.name] = Load(database, corpus, queries, tenants)
            loads[system.name].put_bulk(bulk)
        for part, name in _turns(list(loads)):
            entries = timed[part * size : (part + 1) * size]
            rows[name].stored.append(loads[name].put(entries))
        for name, load in loads.items():
            began = time.perf_counter()
            load.finish()
            load.search(SECONDS / 2)  # warms up
            print(f"  {tenants} tenants, {name}: finished in {time.perf_counter() - began:.1f} s")
        for part, name in _turns(list(loads)):
            times = loads[name].search(SECONDS, first=1000 * part)
            rows[name].searched.append(len(times) / SECONDS)
            rows[name].seconds += times
    print(table(tenants, rows), end="", flush=True)
    return rows


def _turns(names: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Name every system in each round, another first each time."""
    for part in range(ROUNDS):
        first = part % len(names)
        yield from ((part, name) for name in (*names[first:], *names[:first]))
