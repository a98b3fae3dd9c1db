"""Upkeep of a cluster: tables distributed, a tenant moved, and a worker killed in a load.

Each is measured once, in a coordinator with two workers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import count
from statistics import median
from threading import Event, Thread
from typing import TYPE_CHECKING

import psycopg

from benchmarks.cluster_load import WRITERS, Load, run_threads, tenant_name
from benchmarks.cluster_nodes import HOST, SHARDS, System
from benchmarks.corpus import Asked, Corpus
from ragkit.errors import DatabaseError
from ragkit.store.connection import citus
from ragkit.store.connection.connect import connect
from ragkit.store.open import open_database

if TYPE_CHECKING:
    from benchmarks.cluster_load import Entries
    from tests.citus import Node

TENANTS = 16
WRITTEN = "killed/"  # how the URIs of the documents begin that are stored while a worker is killed
AGAIN_S = 0.05  # from a failed write to the next attempt
AT_REST_S = 1.0  # of searching before a tenant is moved
_PORT = """
    SELECT nodeport FROM pg_dist_shard JOIN pg_dist_placement USING (shardid)
    JOIN pg_dist_node USING (groupid)
    WHERE shardid = get_shard_id_for_distribution_column('collection', %s::text)
"""
_STORED = "SELECT count(DISTINCT (tenant, uri)) FROM document WHERE uri LIKE %s"


@dataclass(slots=True)
class Writing:
    """Documents stored while a worker is killed: the seconds of each, and the attempts in vain."""

    stored: dict[int, float] = field(default_factory=dict)  # by the number of the document
    in_vain: int = 0


@dataclass(slots=True)
class Searching:
    """Searches of one tenant by one thread: the seconds of each, and how many failed."""

    times: list[float] = field(default_factory=list)
    failed: int = 0


def measure(system: System, documents: Entries, queries: Sequence[Asked], corpus: Corpus) -> str:
    """Fill a database, distribute it, move a tenant, kill a worker; say what each took."""
    nodes = system.cluster
    with system.database(distribute=False, waits=True) as place:
        with open_database(place.settings) as database:
            load = Load(database, corpus, queries, TENANTS)
            load.put_bulk(documents)
            load.finish()
        began = time.perf_counter()
        with connect(place.owner_url) as conn:
            citus.distribute(conn)
        lines = [_distributed(time.perf_counter() - began, corpus)]
        with open_database(place.settings) as database:
            load = Load(database, corpus, queries, TENANTS)
            lines.append(_moved(system, place.owner_url, load, corpus))
            port = _port(place.owner_url, 0)
            node = next(node for node in nodes.workers if node.port == port)
            lines.append(_killed(node, place.owner_url, load, documents))
    return "\n" + "\n".join(f"- {line}" for line in lines) + "\n"


def _distributed(seconds: float, corpus: Corpus) -> str:
    return (
        f"`ragkit db prepare --citus` of one server's filled database, {corpus.chunks:,} chunks of"
        f" {TENANTS} tenants with their index of vectors, takes {seconds:.1f} s to distribute the"
        f" tables into {SHARDS} shards on two workers."
    )


def _moved(system: System, owner_url: str, load: Load, corpus: Corpus) -> str:
    """Move a tenant to the other worker while a thread searches it."""
    at_rest, meanwhile = Searching(), Searching()
    _search_while(load, at_rest, lambda: time.sleep(AT_REST_S))
    port = _port(owner_url, 0)
    other = next(node.port for node in system.cluster.workers if node.port != port)

    def move() -> None:
        with connect(owner_url) as conn:
            assert citus.move_tenant(conn, tenant_name(0), HOST, other)

    began = time.perf_counter()
    _search_while(load, meanwhile, move)
    seconds = time.perf_counter() - began
    assert _port(owner_url, 0) == other
    return (
        f"`ragkit db move` of one of them, {corpus.chunks // TENANTS:,} chunks, to the other"
        f" worker takes {seconds:.1f} s. One thread searches it meanwhile:"
        f" {len(meanwhile.times):,} searches, {meanwhile.failed} failed; one takes"
        f" {1000 * median(meanwhile.times):.1f} ms at the median and"
        f" {1000 * max(meanwhile.times):,.0f} at most, beside {1000 * median(at_rest.times):.1f} at"
        f" rest and {1000 * max(at_rest.times):,.0f} at most."
    )


def _search_while(load: Load, searching: Searching, act: Callable[[], None]) -> None:
    """Search the first tenant, one question after the other, until `act` has ended."""
    ended = Event()

    def search() -> None:
        for turn in count():
            if ended.is_set():
                return
            try:
                searching.times.append(load.search_one(0, turn))
            except DatabaseError as error:
                searching.failed += 1
                print(f"  a search failed: {error}", flush=True)

    thread = Thread(target=search)
    thread.start()
    try:
        act()
    finally:
        ended.set()
        thread.join()


def _killed(node: Node, owner_url: str, load: Load, documents: Entries) -> str:
    """Kill the first tenant's worker when a third of a load is stored, and start it again."""
    entries = [
        (replace(document, uri=WRITTEN + document.uri), vectors)
        for document, vectors in documents[: max(len(documents) // 4, 10 * TENANTS)]
    ]
    of_node = {number for number in range(TENANTS) if _port(owner_url, number) == node.port}
    writing, enough = Writing(), Event()
    with ThreadPoolExecutor(1) as pool:
        writers = pool.submit(
            run_threads, lambda writer: _write(load, entries, writer, writing, enough), WRITERS
        )
        assert enough.wait(60), "too little was stored before the worker was to be killed"
        killed = time.perf_counter()
        node.kill()
        node.start()
        started = time.perf_counter()
        writers.result()
    before = {number for number, stored in writing.stored.items() if stored < killed}
    resumed = min(
        stored
        for number, stored in writing.stored.items()
        if stored > started and number % TENANTS in of_node
    )
    with psycopg.connect(owner_url) as conn:
        conn.execute("SET LOCAL ragkit.all_tenants = 'on'")
        row = conn.execute(_STORED, (f"{WRITTEN}%",)).fetchone()
    assert row is not None
    return (
        f"A worker killed (SIGKILL, all its processes) in a load of {len(entries):,} documents by"
        f" {WRITERS} threads, after {len(before):,}, with synchronous_commit on: it answers"
        f" {started - killed:.1f} s later, started again at once, and a document of its tenants is"
        f" stored {resumed - started:.2f} s after that. {writing.in_vain:,} attempts failed, each"
        f" tried again after {1000 * AGAIN_S:.0f} ms. Documents that were stored and are lost:"
        f" {len(writing.stored) - int(row[0])}."
    )


def _write(load: Load, entries: Entries, writer: int, writing: Writing, enough: Event) -> None:
    """Store every second document, each tried until it is stored."""
    for number in range(writer, len(entries), WRITERS):
        while number not in writing.stored:
            try:
                load.put_one(number, *entries[number])
                writing.stored[number] = time.perf_counter()
            except DatabaseError:
                writing.in_vain += 1
                time.sleep(AGAIN_S)
        if len(writing.stored) >= len(entries) // 3:
            enough.set()


def _port(owner_url: str, tenant: int) -> int:
    """Return the port of the node that has a tenant's rows."""
    with psycopg.connect(owner_url) as conn:
        row = conn.execute(_PORT, (tenant_name(tenant),)).fetchone()
    assert row is not None
    return int(row[0])
