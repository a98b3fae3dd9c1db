"""Searches by 1 to 16 readers at once, in one process and in two, alone and beside a writer.

The readers are threads of worker processes, as in a server of ragkit's; the writer is a process of
its own that gives way to them, as `ragkit worker` does. Vectors are given, so that no model runs on
either side.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from threading import Thread
from typing import TYPE_CHECKING, Any

from benchmarks.corpus import Asked, Corpus, Precomputed
from benchmarks.made_up import COLLECTION, MadeUp, made_up
from benchmarks.sizes import keep, kept, sizes
from benchmarks.targets import at_least, at_most
from ragkit.retrieve.search import HybridRetriever
from ragkit.settings.settings import Settings
from ragkit.store.open import open_database
from ragkit.system.priority import give_way

if TYPE_CHECKING:
    from ragkit.types import Mode

# Processes and readers: all readers of one process share its interpreter lock.
WORKERS = ((1, 1), (1, 2), (1, 4), (1, 8), (1, 16), (2, 2), (2, 4), (2, 8), (2, 16))
WAYS: tuple[Mode, ...] = ("dense", "hybrid")
SECONDS = 4.0  # of each measurement
QUERIES = 300
K = 10
WRITTEN = "written/"  # how the URIs of the writer's documents begin
MOST_MS = 15  # wanted: the 95th percentile of two readers' hybrid searches beside a writer
LEAST_RATE = 300  # wanted: hybrid searches a second by two processes

HEAD = f"""## Readers beside a writer

Made-up collections as above; each reader asks one question after the other for {SECONDS:g} s, for
{K} passages. The readers are threads of worker processes, each process with ragkit's pool of 8
connections. The writer is another process that ingests documents of ten chunks as fast as it can,
each a transaction with vectors and words; it gives way to the readers, as `ragkit worker` does.
Searches per second of all readers, milliseconds of one at the median (95th percentile), chunks
written per second.
"""


def run() -> str:
    """Measure the sizes asked for, and tabulate all that is kept."""
    for size in sizes():
        with made_up(size) as store:
            keep("readers", size, partial(_measure, store))
    results = {size: result["rows"] for size, result in kept("readers").items()}
    parts = [HEAD]
    for size, rows in results.items():
        parts += [f"### {size:,} chunks\n", _table(rows), _kept_up(rows)]
    return "\n".join([*parts, *_wanted(results)])


def _table(rows: Sequence[dict[str, Any]]) -> str:
    lines = [
        "| mode | processes | readers | searches/s | one search | searches/s, writer beside"
        " | one search | chunks/s written |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        alone, beside = row["alone"], row["beside"]
        lines.append(
            f"| {row['mode']} | {row['processes']} | {row['readers']} | {alone['rate']:,.0f}"
            f" | {_ms(alone)} | {beside['rate']:,.0f} | {_ms(beside)} | {beside['written']:,.0f} |"
        )
    return "\n".join(lines) + "\n"


def _kept_up(rows: Sequence[dict[str, Any]]) -> str:
    worst = min(row["beside"]["rate"] / row["alone"]["rate"] for row in rows)
    said = [f"With the writer beside, readers keep at least {worst:.0%} of their searches/s."]
    for mode in WAYS:
        best = {processes: max(_rates(rows, mode, processes)) for processes in (1, 2)}
        said.append(f"Two processes search {mode} {best[2] / best[1]:.2f} times as often as one.")
    return " ".join(said) + "\n"


def _rates(rows: Sequence[dict[str, Any]], mode: Mode, processes: int) -> list[float]:
    chosen = [row for row in rows if (row["mode"], row["processes"]) == (mode, processes)]
    return [float(row["alone"]["rate"]) for row in chosen]


def _wanted(results: dict[int, Sequence[dict[str, Any]]]) -> list[str]:
    rates = {f"{size:,}": max(_rates(rows, "hybrid", 2)) for size, rows in results.items()}
    slow = {
        f"{size:,}": 1000 * row["beside"]["p95"]
        for size, rows in results.items()
        for row in rows
        if (row["mode"], row["processes"], row["readers"]) == ("hybrid", 2, 2)
    }
    said = [
        at_least("hybrid searches a second, two processes", LEAST_RATE, rates),
        at_most("milliseconds, 95th percentile, two processes beside a writer", MOST_MS, slow),
    ]
    return ["\n".join(f"- {line}" for line in said) + "\n"]


def _ms(measured: dict[str, float]) -> str:
    return f"{1000 * measured['p50']:.1f} ({1000 * measured['p95']:.1f})"


def _measure(store: MadeUp) -> dict[str, Any]:
    rows = []
    for mode in WAYS:
        for processes, readers in WORKERS:
            row: dict[str, Any] = {"mode": mode, "processes": processes, "readers": readers}
            for how, writer in (("alone", nullcontext()), ("beside", _writer(store.home))):
                try:
                    with writer:
                        row[how] = _searches(store, mode, processes, readers // processes)
                finally:
                    _forget(store)
            rows.append(row)
            print(f"  {row}", flush=True)
    return {"rows": rows}


def _searches(store: MadeUp, mode: Mode, processes: int, threads: int) -> dict[str, float]:
    """Let readers search for a while, `threads` of each process."""
    command = ["read", str(store.home), str(store.corpus.chunks), mode, str(threads)]
    with ExitStack() as stack:
        workers = [stack.enter_context(_child([*command, str(n)])) for n in range(processes)]
        before, began = _chunks(store), time.perf_counter()
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.close()  # they begin
        times = [seconds for worker in workers for seconds in json.loads(_line(worker))]
        elapsed = time.perf_counter() - began
        written = _chunks(store) - before
    return {
        "rate": len(times) / SECONDS,
        "p50": median(times),
        "p95": quantiles(times, n=20)[-1],
        "written": written / elapsed,
    }


def read(home: Path, size: int, mode: Mode, threads: int, number: int) -> None:
    """Search with threads for a while after standard input ends; print each search's seconds."""
    corpus = Corpus(size)
    queries = corpus.queries(QUERIES)
    with open_database(Settings(home=home)) as database:
        embedder = Precomputed(corpus.space, queries)
        retriever = HybridRetriever(database.store("default"), embedder, COLLECTION, mode)
        for asked in queries:  # warms up: an index is read from disk at first
            retriever.search(asked.text, k=K)
        times: list[list[float]] = [[] for _ in range(threads)]
        readers = [
            Thread(target=_read, args=(retriever, queries, 37 * number + 11 * thread, own))
            for thread, own in enumerate(times)
        ]
        print("ready", flush=True)
        sys.stdin.read()
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
    print(json.dumps([seconds for own in times for seconds in own]), flush=True)


def _read(
    retriever: HybridRetriever, queries: Sequence[Asked], first: int, times: list[float]
) -> None:
    """Ask one question after the other, from the first on; note how long each takes."""
    end = time.perf_counter() + SECONDS
    for turn in count(first):
        began = time.perf_counter()
        if began >= end:
            return
        retriever.search(queries[turn % len(queries)].text, k=K)
        times.append(time.perf_counter() - began)


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
    with _child(["write", str(home)]) as process:
        yield
        if process.poll() is not None:
            raise SystemExit("the writer ended early: its error stands above")


@contextmanager
def _child(arguments: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """Start a process of this module, ended afterwards, and wait until it is ready."""
    command = [sys.executable, "-m", "benchmarks.readers", *arguments]
    pipe = subprocess.PIPE
    # A session of its own, as each process of `ragkit serve` is.
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, text=True, start_new_session=True
    ) as process:
        try:
            if _line(process) != "ready\n":
                raise SystemExit(f"`{arguments[0]}` failed: its error stands above")
            yield process
        finally:
            process.terminate()


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


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
                print("ready", flush=True)


if __name__ == "__main__":
    task, folder, *rest = sys.argv[1:]
    if task == "write":
        give_way()
        write(Path(folder))
    else:
        chunks, name, threads_each, worker_number = rest
        (way,) = (known for known in WAYS if known == name)
        read(Path(folder), int(chunks), way, int(threads_each), int(worker_number))
