"""Latency of hybrid search against its legs, over made-up collections: how much is side by side."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

from benchmarks.corpus import Asked, Corpus, Precomputed, load
from ragkit import Settings
from ragkit.retrieve.search import HybridRetriever
from ragkit.store.open import open_database

if TYPE_CHECKING:
    from ragkit.types import Mode

SIZES = (10_000, 100_000)
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


class Slow(Precomputed):
    """Takes as long as a small model does over one query, and lets others run meanwhile."""

    def embed_query(self, text: str) -> Any:
        time.sleep(0.005)
        return super().embed_query(text)


def run() -> str:
    lines = [HEAD]
    for size in [int(n) for n in os.environ.get("RAGKIT_BENCH_SIZES", "").split()] or SIZES:
        lines.append(_row(size))
        print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def _row(size: int) -> str:
    corpus = Corpus(size)
    queries = corpus.queries(QUERIES)
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home,
        open_database(Settings(home=Path(home))) as database,
    ):
        store = database.store("default")
        load(store, "made-up", corpus)
        at_once, slow = (
            _measured(
                [
                    HybridRetriever(store, kind(corpus.space, queries), "made-up", mode=way)
                    for way in WAYS
                ],
                queries,
            )
            for kind in (Precomputed, Slow)
        )
    cells = [f"{1000 * median(times):.2f} ({1000 * _p95(times):.2f})" for times in at_once]
    ratios = [f"{median(t[2]) / max(median(t[0]), median(t[1])):.2f}" for t in (at_once, slow)]
    return f"| {size:,} | {' | '.join([*cells, *ratios])} |"


def _measured(ways: Sequence[HybridRetriever], queries: Sequence[Asked]) -> list[list[float]]:
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


def _p95(times: Sequence[float]) -> float:
    return quantiles(times, n=20)[-1]
