"""Searches by 1 to 16 readers at once, alone and while a writer ingests.

The readers are threads of one process, as in a server of ragkit's; the writer is a process of its
own, as `ragkit ingest` is. Vectors are given, so that no model runs on either side.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from threading import Barrier, Thread
from typing import TYPE_CHECKING, Any

from benchmarks.corpus import Asked, Corpus, Precomputed
from benchmarks.made_up import COLLECTION, MadeUp, made_up
from benchmarks.sizes import keep, kept, sizes
from ragkit.retrieve.search import HybridRetriever
from ragkit.settings.settings import Settings
from ragkit.store.open import open_database

if TYPE_CHECKING:
    from ragkit.types import Mode

READERS = (1, 2, 4, 8, 16)
WAYS: tuple[Mode, ...] = ("dense", "hybrid")
SECONDS = 4.0  # of each measurement
QUERIES = 300
K = 10
WRITTEN = "written/"  # how the URIs of the writer's documents begin

HEAD = f"""## Readers beside a writer

Made-up collections as above; each reader asks one question after the other for {SECONDS:g} s, for
{K} passages. The readers are threads of one process with ragkit's pool of 8 connections. The
writer is another process that ingests documents of ten chunks as fast as it can, each a transaction
with vectors and words. Searches per second of all readers, milliseconds of one at the median (95th
percentile), chunks written per second.
"""


def run() -> str:
    """Measure the sizes asked for, and tabulate all that is kept."""
    for size in sizes():
        with made_up(size) as store:
            keep("readers", size, partial(_measure, store))
    parts = [HEAD]
    for size, result in kept("readers").items():
        parts += [f"### {size:,} chunks\n", _table(result["rows"]), _kept_up(result["rows"])]
    return "\n".join(parts)


def _table(rows: Sequence[dict[str, Any]]) -> str:
    lines = [
        "| mode | readers | searches/s | one search | searches/s, writer beside | one search"
        " | chunks/s written |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        alone, beside = row["alone"], row["beside"]
        lines.append(
            f"| {row['mode']} | {row['readers']} | {alone['rate']:,.0f} | {_ms(alone)}"
            f" | {beside['rate']:,.0f} | {_ms(beside)} | {beside['written']:,.0f} |"
        )
    return "\n".join(lines) + "\n"


def _kept_up(rows: Sequence[dict[str, Any]]) -> str:
    worst = min(row["beside"]["rate"] / row["alone"]["rate"] for row in rows)
    said = [f"With the writer beside, readers keep at least {worst:.0%} of their searches/s."]
    for mode in WAYS:
        rates = [row["alone"]["rate"] for row in rows if row["mode"] == mode]
        said.append(f"16 readers of {mode} search {rates[-1] / rates[0]:.2f} times as often as 1.")
    return " ".join(said) + "\n"


def _ms(measured: dict[str, float]) -> str:
    return f"{1000 * measured['p50']:.1f} ({1000 * measured['p95']:.1f})"


def _measure(store: MadeUp) -> dict[str, Any]:
    queries = store.corpus.queries(QUERIES)
    rows = []
    for mode in WAYS:
        embedder = Precomputed(store.corpus.space, queries)
        retriever = HybridRetriever(store.store, embedder, COLLECTION, mode)
        for one in queries:  # warms up: an index is read from disk at first
            retriever.search(one.text, k=K)
        for readers in READERS:
            row: dict[str, Any] = {"mode": mode, "readers": readers}
            for how, writer in (("alone", nullcontext()), ("beside", _writer(store.home))):
                try:
                    with writer:
                        row[how] = _searches(store, retriever, queries, readers)
                finally:
                    _forget(store)
            rows.append(row)
            print(f"  {row}", flush=True)
    return {"rows": rows}


def _searches(
    store: MadeUp, retriever: HybridRetriever, queries: Sequence[Asked], readers: int
) -> dict[str, float]:
    """Let the readers search for a while, each from another query on."""
    times: list[list[float]] = [[] for _ in range(readers)]
    ready = Barrier(readers + 1)

    def read(number: int) -> None:
        own = times[number]
        retriever.search(queries[number].text, k=K)  # a connection is opened
        ready.wait()
        end = time.perf_counter() + SECONDS
        for turn in count(number * len(queries) // readers):
            began = time.perf_counter()
            if began >= end:
                return
            retriever.search(queries[turn % len(queries)].text, k=K)
            own.append(time.perf_counter() - began)

    threads = [Thread(target=read, args=(number,)) for number in range(readers)]
    for thread in threads:
        thread.start()
    ready.wait()
    before, began = _chunks(store), time.perf_counter()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    every = [one for own in times for one in own]
    return {
        "rate": len(every) / seconds,
        "p50": median(every),
        "p95": quantiles(every, n=20)[-1],
        "written": (_chunks(store) - before) / seconds,
    }


def _chunks(store: MadeUp) -> int:
    with store.database.pool.connection() as conn:
        row = conn.execute("SELECT count(*) FROM document WHERE uri LIKE 'written/%'").fetchone()
    assert row is not None
    return 10 * int(row[0])


def _forget(store: MadeUp) -> None:
    """Delete what was written: each measurement finds the same collection."""
    if not _chunks(store):
        return
    named = store.store.named(COLLECTION)
    for uri, document in named.items():
        if uri.startswith(WRITTEN):
            store.store.delete_document(COLLECTION, document)
    store.store.finish_load(COLLECTION, store.corpus.space)


@contextmanager
def _writer(home: Path) -> Iterator[None]:
    command = [sys.executable, "-m", "benchmarks.readers", str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            if process.stdout.readline() != "writing\n":
                raise SystemExit("the writer failed: its error stands above")
            yield
            if process.poll() is not None:
                raise SystemExit("the writer ended early: its error stands above")
        finally:
            process.terminate()


def write(home: Path) -> None:
    """Ingest made-up documents until this process is ended."""
    with open_database(Settings(home=home)) as database:
        store = database.store("default", durable=False)
        corpus = Corpus(10**9, seed=time.time_ns() % 10**9)
        space = Corpus(10).space
        for number, (document, vectors) in enumerate(corpus.documents()):
            uri = f"{WRITTEN}{corpus.seed}/{document.uri}"
            store.put_document(COLLECTION, replace(document, uri=uri), space, vectors)
            if not number:
                print("writing", flush=True)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
