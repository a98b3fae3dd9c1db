"""Latency of hybrid search against its legs, over made-up collections."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

from benchmarks import footprint
from benchmarks.corpus import Asked, Precomputed
from benchmarks.growth import growth
from benchmarks.made_up import COLLECTION, MadeUp, made_up
from benchmarks.sizes import keep, kept, sizes
from benchmarks.targets import at_most
from ragkit.retrieve.search import HybridRetriever
from ragkit.store.words import segment_rows

if TYPE_CHECKING:
    from ragkit.types import Mode

QUERIES = 300
K = 10
WAYS: tuple[Mode, ...] = ("dense", "lexical", "hybrid")
HEAD = """## Hybrid search and its legs

Milliseconds of one search for ten passages, p50 (p95): made-up collections of clustered unit
vectors of 384 dimensions and Zipf text, queries of five words whose vectors are given, so that no
model runs. One caller, ragkit's embedded server, the three ways in turn. *Ratio*: hybrid over the
slower leg, p50. *Embedding beside*: the same with a model that takes 5 ms over a query, in which
the words are found.

| chunks | dense | lexical | hybrid | ratio | ratio, embedding beside |
|---|---|---|---|---|---|"""
COSTS = """
Bytes a chunk of the whole: on disk the texts of about 100 words, the vectors and the words, each
with its indexes; in memory what no file backs of the server, its buffers in use with it, and
ragkit's cache of words.

| chunks | loaded in | texts | vectors | words | server's memory | cache |
|---|---|---|---|---|---|---|"""


class Slow(Precomputed):
    """Takes as long as a small model does over one query, and lets others run meanwhile."""

    def embed_query(self, text: str) -> Any:
        time.sleep(0.005)
        return super().embed_query(text)


def run() -> str:
    """Measure the sizes asked for, and tabulate all that is kept."""
    for size in sizes():
        with made_up(size) as store:
            print(keep("hybrid", size, partial(_measure, store)), flush=True)
    results = kept("hybrid")
    times, costs = [HEAD], [COSTS]
    for size, row in results.items():
        cells = [f"{1000 * row['p50'][way]:.2f} ({1000 * row['p95'][way]:.2f})" for way in WAYS]
        ratios = f"{_ratio(row['p50']):.2f} | {_ratio(row['slow']):.2f}"
        times.append(f"| {size:,} | {' | '.join(cells)} | {ratios} |")
        each = " | ".join(f"{of / size:,.0f}" for of in row["bytes"].values())
        costs.append(f"| {size:,} | {row['loaded']:.0f} s | {each} |")
    ratios_by_size = {f"{size:,}": _ratio(row["p50"]) for size, row in results.items()}
    wanted = "\n- " + at_most("hybrid / its slower leg", 1.3, ratios_by_size) + "\n"
    grown = growth({way: {n: row["p50"][way] for n, row in results.items()} for way in WAYS})
    return "\n".join([*times, *costs, wanted, grown])


def _ratio(p50: dict[str, float]) -> float:
    return p50["hybrid"] / max(p50["dense"], p50["lexical"])


def _measure(store: MadeUp) -> dict[str, Any]:
    queries = store.corpus.queries(QUERIES)
    at_once, slow = (
        _in_turn(
            [
                HybridRetriever(store.store, kind(store.corpus.space, queries), COLLECTION, mode)
                for mode in WAYS
            ],
            queries,
        )
        for kind in (Precomputed, Slow)
    )
    with store.database.owner() as conn:
        parts = {
            name: footprint.disk(conn, getattr(footprint, name.upper()))
            for name in ("text", "vectors", "words")
        }
    memory = {
        "server": footprint.server_memory(store.home),
        "cache": segment_rows.CACHE.size,
    }
    return {
        **store.noted,
        "p50": {way: median(times) for way, times in zip(WAYS, at_once, strict=True)},
        "p95": {way: quantiles(times, n=20)[-1] for way, times in zip(WAYS, at_once, strict=True)},
        "slow": {way: median(times) for way, times in zip(WAYS, slow, strict=True)},
        "bytes": parts | memory,
    }


def _in_turn(ways: Sequence[HybridRetriever], queries: Sequence[Asked]) -> list[list[float]]:
    """Time each query on every way in turn, after a round to warm up."""
    times: list[list[float]] = [[] for _ in ways]
    for measured in (False, True):
        for asked in queries:
            for number, way in enumerate(ways):
                began = time.perf_counter()
                assert len(way.search(asked.text, k=K)) <= K
                if measured:
                    times[number].append(time.perf_counter() - began)
    return times
