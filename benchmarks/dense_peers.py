"""ragkit's dense search against another vector store: in turn, with the same queries and filters.

The peer searches as hard as it takes to find as much as ragkit does, where it can.
"""

from __future__ import annotations

import time
from statistics import fmean, median
from typing import Any

import numpy as np

from benchmarks.dense_raw import K, Search, ragkit
from benchmarks.drawn import BELOW
from benchmarks.loaded import Loaded
from benchmarks.vector_stores import VectorStore, filled

CASES = [(None, 1.0), *((field, s) for field in ("near", "random") for s in (0.01, 0.1, 0.5))]
EFFORTS = (24, 48, 100, 200, 400, 1000)  # LanceDB wants 2k at least, pgvector takes 1000 at most
BUDGET_S = 5.0  # of a peer's searches in one case; it is asked fewer queries when they are slow
FEWEST = 4  # queries
EXACT = ("qdrant",)


def measure(loaded: Loaded, name: str) -> dict[str, Any]:
    """Fill the peer, and ask it and ragkit in turn with every filter."""
    with filled(name, loaded.drawn.folder, loaded.url) as peer:
        print(f"  {name} filled in {peer.filled_s:.1f} s", flush=True)
        own = ragkit(loaded)
        cases = [_case(loaded, own, peer, field, share) for field, share in CASES]
        return {"filled": peer.filled_s, **peer.sizes(), "cases": cases}


def _case(
    loaded: Loaded, own: Search, peer: VectorStore, field: str | None, share: float
) -> dict[str, Any]:
    below = round(BELOW * share)
    truth = loaded.drawn.nearest(field, below, K)
    queries = loaded.drawn.queries
    ours = [_recall(own(query, field, below), truth[n]) for n, query in enumerate(queries)]
    effort = _effort(peer, field, below, truth, ours)
    seconds: dict[str, list[float]] = {"ragkit": [], "peer": []}
    recalls: list[float] = []
    for n, query in enumerate(queries):
        if n >= FEWEST and sum(seconds["peer"]) > BUDGET_S:
            break
        for who in ("ragkit", "peer") if n % 2 else ("peer", "ragkit"):
            if who == "peer":
                took, found = peer.search(n, K, field, below, effort)
                recalls.append(_recall(found, truth[n]))
            else:
                began = time.perf_counter()
                own(query, field, below)
                took = time.perf_counter() - began
            seconds[who].append(took)
    case = {
        "field": field,
        "share": share,
        "effort": None if peer.name in EXACT else effort,
        "queries": len(recalls),
        "p50": {who: median(times) for who, times in seconds.items()},
        "p95": {who: float(np.percentile(times, 95)) for who, times in seconds.items()},
        "recall": {"ragkit": fmean(ours[: len(recalls)]), "peer": fmean(recalls)},
    }
    print(f"  {peer.name}: {case}", flush=True)
    return case


def _effort(
    peer: VectorStore, field: str | None, below: int, truth: list[set[int]], ours: list[float]
) -> int:
    """Find the least effort with ragkit's recall, or else the least that finds the most."""
    found: dict[int, float] = {}
    for effort in EFFORTS[:1] if peer.name in EXACT else EFFORTS:
        spent, recalls = 0.0, list[float]()
        for n, true in enumerate(truth):
            if n >= FEWEST and spent > BUDGET_S / 2:
                break
            took, rows = peer.search(n, K, field, below, effort)
            spent += took
            recalls.append(_recall(rows, true))
        if fmean(recalls) >= fmean(ours[: len(recalls)]):
            return effort
        found[effort] = fmean(recalls)
    return max(found, key=lambda effort: (found[effort], -effort))


def _recall(found: list[int], true: set[int]) -> float:
    return len(set(found) & true) / len(true)
