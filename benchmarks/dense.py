"""Dense search, with and without filters: ragkit against raw SQL and other vector stores.

The vectors are made up (drawn.py). Sizes: sizes.py says which are measured. BENCH_PEERS names the
peers to ask, of all of vector_stores.py; none when it is empty.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from benchmarks import dense_peers, dense_raw
from benchmarks.drawn import DIMENSION, PER_DOCUMENT, QUERIES
from benchmarks.growth import growth
from benchmarks.loaded import loaded
from benchmarks.sizes import keep, kept, sizes
from benchmarks.targets import at_least, at_most
from benchmarks.vector_stores import ENVIRONMENTS

# Above, Qdrant's local mode compares in Python; it says itself that it is for small collections.
MOST = {"qdrant": 100_000}
GOOD_RECALL = 0.98  # of a raw statement that ragkit is compared with

HEAD = f"""## Dense search

{DIMENSION} dimensions, k = {dense_raw.K}, {QUERIES} queries that are stored vectors with some
noise; systems asked in turn, milliseconds at the median (95th percentile). ragkit: half precision,
HNSW; one snapshot, its routing and the search, on a pool's connection. Filters are on metadata of
documents of {PER_DOCUMENT} chunks: `random` has nothing to do with the vectors, `near` lets through
whole clusters. ragkit estimates once a minute how many rows a filter leaves: for the first query.

Raw SQL: one prepared statement on an open connection, the vector in binary, settings made before:
HNSW with ef_search at 100, or all that match compared; ragkit is compared with the better of those
whose recall is {GOOD_RECALL} or more. What a run does not measure is kept from an earlier one.

Peers: each in an environment and a process of its own, in turn with ragkit alone. HNSW with M = 16,
as ragkit's, and the least ef of {", ".join(map(str, dense_peers.EFFORTS))} that reaches ragkit's
recall, or finds the most. FAISS and Qdrant are in memory; Qdrant's local mode compares every
vector, and above {MOST["qdrant"]:,} rows is left out; langchain-postgres is on ragkit's own server.
A peer that is slow is asked fewer queries, at least {dense_peers.FEWEST}.
"""
COSTS = """
Disk: the table or files with the index, vectors alone. Memory: what no file backs, of ragkit's
server (its buffers in use with it) and Python, or of the peer's process since it imported the
library; langchain-postgres keeps its in ragkit's server, which is not counted.
"""


def run() -> str:
    """Measure the sizes asked for, and tabulate all that is kept."""
    for size in sizes():
        with loaded(size) as store:
            keep("dense", size, partial(dense_raw.measure, store))
            for name in os.environ.get("BENCH_PEERS", " ".join(ENVIRONMENTS)).split():
                if size <= MOST.get(name, size):
                    keep(f"dense-{name}", size, partial(dense_peers.measure, store, name))
    raw = kept("dense")
    peers = {name: kept(f"dense-{name}") for name in ENVIRONMENTS}
    parts = [HEAD]
    for size, result in raw.items():
        of_size = {name: by_size[size] for name, by_size in peers.items() if size in by_size}
        parts += [f"### {size:,} vectors\n", _raw_table(result), _inserted(result["inserts"])]
        parts.append(_peers_table(of_size) if of_size else "No peer was asked at this size.\n")
        parts += [COSTS, _costs_table(size, result, of_size)]
    return "\n".join(
        [*parts, "### Targets and growth\n", *_wanted(raw, peers), _growth(raw, peers)]
    )


def _raw_table(result: dict[str, Any]) -> str:
    lines = [
        "| filter | matching | ragkit | recall | raw SQL, HNSW | recall | raw SQL, exact"
        " | ragkit / better |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for case in result["cases"]:
        cell = {name: _ms(case, name) for name in case["p50"]}
        recall = case["recall"]
        lines.append(
            f"| {_filter(case)} | {case['matching']:,} | {cell['ragkit']} | {recall['ragkit']:.3f}"
            f" | {cell['walk']} | {recall['walk']:.3f} | {cell['exact']} | {_ratio(case):.2f} |"
        )
    return "\n".join(lines) + "\n"


def _inserted(rates: dict[str, float]) -> str:
    return (
        f"Steady writes: {rates['documents']:,.0f} rows/s as documents of {PER_DOCUMENT} chunks,"
        f" each a transaction; the vectors alone {rates['outside']:,.0f} rows/s outside the index,"
        f" as they are written, and {rates['inside']:,.0f} rows/s into it, as they are merged:"
        f" {rates['outside'] / rates['inside']:.0f} times.\n"
    )


def _peers_table(peers: dict[str, dict[str, Any]]) -> str:
    lines = [
        "| peer | filter | ef | peer | recall | ragkit | recall | peer / ragkit |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, result in peers.items():
        for case in result["cases"]:
            recall = case["recall"]
            few = "" if case["queries"] == QUERIES else f", {case['queries']} queries"
            lines.append(
                f"| {name} | {_filter(case)} | {case['effort'] or 'exact'}"
                f" | {_ms(case, 'peer')}{few} | {recall['peer']:.3f} | {_ms(case, 'ragkit')}"
                f" | {recall['ragkit']:.3f} | {case['p50']['peer'] / case['p50']['ragkit']:.2f} |"
            )
    return "\n".join(lines) + "\n"


def _costs_table(size: int, own: dict[str, Any], peers: dict[str, dict[str, Any]]) -> str:
    lines = [
        "| system | filled in | disk, bytes a chunk | memory, bytes a chunk |",
        "|---|---|---|---|",
        f"| ragkit | {own['stored']:.1f} s with documents and words, {own['indexed']:.1f} s index"
        f" | {own['disk'] / size:,.0f} | {own['memory'] / size:,.0f} |",
    ]
    for name, result in peers.items():
        disk = f"{result['disk'] / size:,.0f}" if result["disk"] else "none"
        memory = "not counted" if name == "langchain" else f"{result['memory'] / size:,.0f}"
        lines.append(f"| {name} | {result['filled']:.1f} s | {disk} | {memory} |")
    return "\n".join(lines) + "\n"


def _wanted(raw: dict[int, Any], peers: dict[str, dict[int, Any]]) -> list[str]:
    plain = {f"{size:,}": _ratio(result["cases"][0]) for size, result in raw.items()}
    routed = {
        f"{size:,}": max(_ratio(case) for case in result["cases"][1:])
        for size, result in raw.items()
    }
    chroma = {f"{size:,}": _faster(result["cases"][:1]) for size, result in peers["chroma"].items()}
    narrow = {f"{size:,}": _faster(result["cases"][1:]) for size, result in peers["chroma"].items()}
    inserts = {
        f"{size:,}": result["inserts"]["outside"] / result["inserts"]["inside"]
        for size, result in raw.items()
    }
    said = [
        at_most("without a filter, ragkit / raw SQL", 1.4, plain),
        at_most("with the worst of the filters, ragkit / the better plan", 1.5, routed),
        at_least("rows written outside the index / into it", 10, inserts),
    ]
    if chroma:
        said.append(at_least("without a filter, Chroma / ragkit", 3, chroma))
        said.append(at_least("with the worst of the filters, Chroma / ragkit", 3, narrow))
    return ["\n".join(f"- {line}" for line in said) + "\n"]


def _growth(raw: dict[int, Any], peers: dict[str, dict[int, Any]]) -> str:
    def costs(results: dict[int, Any], who: str, number: int) -> dict[int, float]:
        return {size: float(one["cases"][number]["p50"][who]) for size, one in results.items()}

    tenth = [case[:2] for case in dense_raw.CASES].index(("random", 0.1))
    peer_tenth = dense_peers.CASES.index(("random", 0.1))
    found = {
        "ragkit": costs(raw, "ragkit", 0),
        "ragkit, random 10%": costs(raw, "ragkit", tenth),
        "raw SQL, HNSW": costs(raw, "walk", 0),
        "raw SQL, exact": costs(raw, "exact", 0),
    }
    for name, results in peers.items():
        found[name] = costs(results, "peer", 0)
        found[f"{name}, random 10%"] = costs(results, "peer", peer_tenth)
    return growth(found)


def _ratio(case: dict[str, Any]) -> float:
    """Divide ragkit's time by the better raw statement's of enough recall."""
    good = [case["p50"][name] for name in ("walk", "exact") if case["recall"][name] >= GOOD_RECALL]
    return float(case["p50"]["ragkit"] / min(good))


def _faster(cases: list[dict[str, Any]]) -> float:
    return min(float(case["p50"]["peer"] / case["p50"]["ragkit"]) for case in cases)


def _filter(case: dict[str, Any]) -> str:
    return "none" if case["field"] is None else f"{case['field']} {case['share']:.1%}"


def _ms(case: dict[str, Any], who: str) -> str:
    return f"{1000 * case['p50'][who]:.2f} ({1000 * case['p95'][who]:.2f})"
