"""Search by words alone: ragkit's index in PostgreSQL against bm25s in memory and tsvector.

Zipf text (zipf.py). Sizes: sizes.py says which are measured.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks import footprint
from benchmarks.growth import growth
from benchmarks.homes import home, once, refuse_half_loaded
from benchmarks.lexical_peers import bm25s, tsvector
from benchmarks.sizes import keep, kept, sizes
from benchmarks.targets import at_least, at_most
from benchmarks.zipf import MEAN_TERMS, VOCABULARY, Corpus, make, questions
from ragkit.settings.settings import Settings
from ragkit.store.connection.transactions import lent
from ragkit.store.open import Database, open_database
from ragkit.store.session import open_session
from ragkit.store.words import postings, segment_rows
from ragkit.text.terms import Terms

QUERIES: Final = 200
SLOW_QUERIES: Final = 20  # of tsvector, which takes up to seconds each
COLD_QUERIES: Final = 50
K: Final = 10
ROUNDS: Final = 3
BLOCK: Final = 5_000  # chunks in one segment as written; merged at the end
COLLECTION: Final = "words"
SYSTEMS: Final = ("warm", "cold", "first", "bm25s", "tsvector")

HEAD = f"""## Search by words

Zipf text of {MEAN_TERMS} words a chunk, vocabulary {VOCABULARY:,}; {QUERIES} questions of 2 to 8
words that stand in one chunk, frequent words included; the {K} best. Medians (95th percentile) of
{ROUNDS} interleaved rounds in milliseconds, in one thread. *ragkit*: a transaction of its own for
each question, exact BM25 over PostgreSQL, what it read before kept in memory (*warm*) or not
(*cold*: after forgetting everything; *first*: the first question of a fresh process). *bm25s*
keeps its index in memory and cannot change it; the scores are compared on every question, and are
the same within 1e-4. *tsvector*: GIN index, OR of the words, ts_rank_cd, {SLOW_QUERIES} questions.

| chunks | ragkit warm | ragkit cold | first | bm25s | tsvector | warm / bm25s | tsvector / warm |
|---|---|---|---|---|---|---|---|"""
COSTS = """
Bytes a chunk, the text itself apart. ragkit's index after VACUUM FULL: what merges leave behind is
used again once the server has vacuumed. In memory: ragkit's own cache, which has a limit, and its
server, its buffers in use with it; of bm25s its arrays.

| chunks | ragkit, disk | postings + keys | cache | server | bm25s, memory | tsvector + GIN, disk |
|---|---|---|---|---|---|---|"""


def run() -> str:
    """Measure the sizes asked for, and tabulate all that is kept."""
    for size in sizes():
        print(keep("lexical", size, partial(_measure, size)), flush=True)
    results = kept("lexical")
    times, costs = [HEAD], [COSTS]
    for size, row in results.items():
        p50 = row["p50"]
        cells = [f"{1000 * p50[name]:.2f} ({1000 * row['p95'][name]:.2f})" for name in SYSTEMS]
        ratios = f"{p50['warm'] / p50['bm25s']:.1f} | {p50['tsvector'] / p50['warm']:.0f}"
        times.append(f"| {size:,} | {' | '.join(cells)} | {ratios} |")
        each = {name: f"{of / size:,.0f}" for name, of in row["bytes"].items()}
        costs.append(
            f"| {size:,} | {each['index']} | {each['postings']} + {each['keys']}, in"
            f" {row['segments']} segments | {each['cache']} | {each['server']} | {each['bm25s']}"
            f" | {each['tsvector']} |"
        )
    return "\n".join([*times, *costs, "", _wanted(results), "", _growth(results)])


def _wanted(results: dict[int, Any]) -> str:
    slower = {f"{n:,}": row["p50"]["warm"] / row["p50"]["bm25s"] for n, row in results.items()}
    faster = {f"{n:,}": row["p50"]["tsvector"] / row["p50"]["warm"] for n, row in results.items()}
    said = [
        at_most("ragkit warm / bm25s", 5, slower),
        at_least("tsvector with ts_rank_cd / ragkit warm", 50, faster),
    ]
    return "\n".join(f"- {line}" for line in said)


def _growth(results: dict[int, Any]) -> str:
    def costs(name: str) -> dict[int, float]:
        return {size: float(row["p50"][name]) for size, row in results.items()}

    names = {"warm": "ragkit warm", "cold": "ragkit cold"}
    return growth({names.get(n, n): costs(n) for n in SYSTEMS if n != "first"}) + (
        "\nWanted: an exponent of 0.8 or less.\n"
    )


def _measure(size: int) -> dict[str, Any]:
    corpus = make(size)
    asked = questions(corpus, QUERIES)
    with home(f"lexical-{size}") as folder:
        with open_database(Settings(home=folder)) as database:
            loading = once(folder, "loaded", lambda: _load(database, corpus, folder))
            sizes = _sizes(database)
            peer, arrays = bm25s(corpus, K)
            _agree(database, peer, asked)
            times = _in_turn(database, peer, asked)
            sizes |= {"cache": segment_rows.CACHE.size, "bm25s": arrays}
            sizes["server"] = footprint.server_memory(folder)
            times["cold"] = _cold(database, asked[:COLD_QUERIES])
            times["tsvector"], sizes["tsvector"] = tsvector(
                database, corpus, asked[:SLOW_QUERIES], K, folder
            )
        times["first"] = [_first(folder, words) for words in asked[:3]]
    return {
        **loading,
        "p50": {name: float(np.median(some)) for name, some in times.items()},
        "p95": {name: float(np.percentile(some, 95)) for name, some in times.items()},
        "segments": sizes.pop("segments"),
        "bytes": sizes,
    }


def _in_turn(
    database: Database, peer: Callable[[Sequence[str]], object], asked: list[list[str]]
) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {"warm": [], "bm25s": []}
    for _ in range(ROUNDS):
        for words in asked:
            times["warm"].append(_timed(partial(_search, database, words)))
            times["bm25s"].append(_timed(partial(peer, words)))
    return times


def _cold(database: Database, asked: list[list[str]]) -> list[float]:
    times = []
    for words in asked:
        segment_rows.CACHE.clear()
        times.append(_timed(partial(_search, database, words)))
    return times


def _search(database: Database, words: Sequence[str]) -> Sequence[tuple[int, float]]:
    from ragkit.retrieve.words.search import search_words

    with database.store("default").snapshot() as reader:
        return search_words(reader, COLLECTION, " ".join(words), K).best


def _agree(
    database: Database, peer: Callable[[Sequence[str]], list[float]], asked: list[list[str]]
) -> None:
    """Compare every question's scores; also warms both up."""
    for words in asked:
        ours = [score for _, score in _search(database, words)]
        theirs = [score for score in peer(words) if score > 0]
        assert np.allclose(ours, theirs, atol=1e-4), (words, ours, theirs)


def _load(database: Database, corpus: Corpus, home: Path) -> dict[str, float]:
    store = database.store("default", durable=False)
    refuse_half_loaded(store, home)
    owner = store.create_collection(COLLECTION).id
    began = time.perf_counter()
    for block in range(0, len(corpus), BLOCK):
        numbers = range(block, min(block + BLOCK, len(corpus)))
        terms = Terms.of([corpus.words(number) for number in numbers])
        with open_session(database.pool, "default") as session:
            postings.add_segment(session, owner, [n + 1 for n in numbers], terms)
        with lent(database.pool) as conn:
            postings.merge(conn, "default", owner)
        if block % 100_000 == 0:
            print(f"  {block:,} chunks: {time.perf_counter() - began:.0f} s", flush=True)
    with database.owner() as conn:
        conn.execute("VACUUM (FULL, ANALYZE) lexical_posting, lexical_segment")
    seconds = time.perf_counter() - began
    print(f"  {len(corpus):,} chunks indexed in {seconds:.0f} s", flush=True)
    return {"indexed": seconds}


def _sizes(database: Database) -> dict[str, int]:
    with database.pool.connection() as conn:
        row = conn.execute(
            "SELECT (SELECT sum(length(data)) FROM lexical_posting),"
            " pg_indexes_size('lexical_posting'), (SELECT count(*) FROM lexical_segment)"
        ).fetchone()
        assert row is not None
        index = footprint.disk(conn, footprint.WORDS)
    return {"index": index, "postings": int(row[0]), "keys": int(row[1]), "segments": int(row[2])}


def _first(home: Path, words: Sequence[str]) -> float:
    """Time the first question of a fresh process, its database open and its modules loaded."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.lexical", str(home), *words],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout.split()[-1])


def _timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def main(home: str, *words: str) -> None:
    with open_database(Settings(home=Path(home))) as database:
        database.store("default").collections()
        print(_timed(partial(_search, database, words)))


if __name__ == "__main__":
    main(*sys.argv[1:])
