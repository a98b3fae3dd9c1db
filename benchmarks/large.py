"""Search in up to ten million chunks on one server: what a build takes, and how times grow.

Collections of large_corpus.py. Sizes: sizes.py says which are measured. BENCH_FORMS names the
indexes to measure, of "bit" and "halfvec"; the disk holds one of a size at a time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import product, starmap
from statistics import fmean, median, quantiles
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from benchmarks.corpus import Asked, Precomputed
from benchmarks.growth import fit, growth
from benchmarks.homes import once
from benchmarks.large_corpus import BELOW, blocks, questions, word_questions
from benchmarks.large_home import (
    COLLECTION,
    LARGE,
    SMALL,
    SMALL_CHUNKS,
    SMALL_SEED,
    SPACE,
    LargeHome,
    large_home,
)
from benchmarks.sizes import keep, kept, sizes
from benchmarks.targets import at_most
from ragkit.filters.tree import parse
from ragkit.retrieve.search import HybridRetriever
from ragkit.store.documents.metadata import MetadataKeys

if TYPE_CHECKING:
    from ragkit.store.postgres import PostgresStore
    from ragkit.store.vectors.layout import Type
    from ragkit.types import Mode

QUESTIONS: Final = 100
BUDGET_S: Final = 30.0  # of a case; where it is spent, after so many questions at least
FEWEST: Final = 10
K: Final = 10
FORMS: Final = ("bit", "halfvec")
WAYS: Final[tuple[Mode, ...]] = ("dense", "lexical", "hybrid")
SHARES: Final = (0.001, 0.01, 0.1, 0.5)
FILTERS: Final = [(None, 1.0), *product(("random", "near"), SHARES)]
Truth = dict[str, list[list[int]]]  # the chunks that are to be found, by filter and question

EXPONENT: Final = 0.3  # wanted at most, of each leg
HEAD = f"""## Ten million chunks

One server, ragkit's embedded one: made-up chunks of about 100 words of Zipf text, unit vectors of
384 dimensions around 200 centres in 32 directions, documents of ten chunks, one in ten of them
limited to one of 100 groups. Written by the store's own statements, 50,000 chunks in a transaction;
then one build of the vectors' index, HNSW with M = 16, of one bit a dimension or in half precision.
Each collection is the beginning of the larger ones.

{QUESTIONS} questions of words of one chunk, with a vector from where the chunks' come from, not one
of theirs. Milliseconds of one search for {K} passages with their texts, p50 (p95), after a round to
warm up, with a filter one of {BUDGET_S / 2:.0f} s at most; one caller, no model. What takes long is
asked fewer questions, {FEWEST} at least.
*Recall*: of the {K} nearest by comparing all, in half precision.
"""
LOADED = """### Loading

Bytes a chunk on disk, indexes included but that of the vectors.

| chunks | loaded in | chunks/s | texts | vectors | words |
|---|---|---|---|---|---|"""
BUILT = """### Index of the vectors

Memory: what no file backs of the server's processes, at the highest of what was looked at every
ten seconds.

| index | chunks | built in | rows/s | memory at most | bytes a chunk |
|---|---|---|---|---|---|"""
SEARCHED = """### Searches

| index | chunks | dense | recall | words | hybrid | hybrid / slower leg |
|---|---|---|---|---|---|---|"""
FILTERED = """### Filters, {chunks:,} chunks, index: {form}

`random` has nothing to do with the vectors, `near` goes with their clusters. *Declared*: the same
dense search once the key is declared for the collection.

| filter | dense | recall | declared | recall | words | hybrid |
|---|---|---|---|---|---|---|"""
LIMITED = """### For a reader who may not read everything

Nine documents in ten are anybody's; of the others the reader's group may read one in a hundred.

| index | chunks | dense | words | hybrid |
|---|---|---|---|---|"""
BESIDE = f"""### A small tenant beside them

Another tenant's {SMALL_CHUNKS:,} chunks in the same tables and indexes.

| index | chunks of the large one | dense | recall | words | hybrid |
|---|---|---|---|---|---|"""


def run() -> str:
    """Measure the sizes asked for, and tabulate all that is kept."""
    for size in sizes():
        with large_home(size) as loaded:
            keep("large", size, partial(_loaded, loaded))
            for form in os.environ.get("BENCH_FORMS", " ".join(FORMS)).split():
                keep(f"large-{form}", size, partial(_measure, loaded, cast("Type", form)))
    results = {form: kept(f"large-{form}") for form in FORMS}
    rows = [(form, size, row) for form, by_size in results.items() for size, row in by_size.items()]
    parts = [HEAD, _table(LOADED, starmap(_loading, kept("large").items()))]
    parts.append(_table(BUILT, starmap(_building, rows)))
    parts.append(_table(SEARCHED, starmap(_searching, rows)))
    for form, by_size in results.items():
        if by_size:
            largest = max(by_size)
            head = FILTERED.format(chunks=largest, form=form)
            parts.append(_table(head, _filtering(by_size[largest])))
    parts.append(_table(LIMITED, (_cells(form, size, row["limited"]) for form, size, row in rows)))
    parts.append(_table(BESIDE, (_cells(form, size, row["small"]) for form, size, row in rows)))
    return "\n".join([*parts, "### Growth\n", *_growth(results)])


def _table(head: str, lines: Iterable[str]) -> str:
    return "\n".join([head, *lines]) + "\n"


def _loading(size: int, row: dict[str, Any]) -> str:
    each = " | ".join(f"{row['bytes'][name] / size:,.0f}" for name in ("text", "vectors", "words"))
    return f"| {size:,} | {row['stored']:,.0f} s | {size / row['stored']:,.0f} | {each} |"


def _building(form: str, size: int, row: dict[str, Any]) -> str:
    rows = size + SMALL_CHUNKS
    peak = f"{row['peak'] / 1e9:.2f} GB" if row["peak"] else "too brief to see"
    cells = f"{row['seconds']:,.0f} s | {rows / row['seconds']:,.0f} | {peak}"
    return f"| {form} | {size:,} | {cells} | {row['index'] / rows:,.0f} |"


def _searching(form: str, size: int, row: dict[str, Any]) -> str:
    dense, words, hybrid = row["cases"][: len(WAYS)]
    ratio = hybrid["p50"] / max(dense["p50"], words["p50"])
    return f"{_cells(form, size, row['cases'][: len(WAYS)])} {ratio:.2f} |"


def _filtering(row: dict[str, Any]) -> Iterator[str]:
    cases = row["cases"][len(WAYS) :]
    by_filter = [cases[first : first + len(WAYS)] for first in range(0, len(cases), len(WAYS))]
    for (dense, words, hybrid), declared in zip(by_filter, row["declared"], strict=True):
        cells = _ms(dense), _recall(dense), _ms(declared), _recall(declared), _ms(words)
        name = f"{dense['field']} {dense['share']:.1%}"
        yield f"| {name} | {' | '.join(cells)} | {_ms(hybrid)} |"


def _cells(form: str, size: int, cases: Sequence[dict[str, Any]]) -> str:
    """Write a row of the three ways' times, with recall where there is any."""
    dense, words, hybrid = cases
    recall = "" if dense["recall"] is None else f" {_recall(dense)} |"
    return f"| {form} | {size:,} | {_ms(dense)} |{recall} {_ms(words)} | {_ms(hybrid)} |"


def _ms(case: dict[str, Any]) -> str:
    few = "" if case["questions"] == QUESTIONS else f", {case['questions']} questions"
    return f"{1000 * case['p50']:.2f} ({1000 * case['p95']:.2f}){few}"


def _recall(case: dict[str, Any]) -> str:
    return "none passes" if case["recall"] is None else f"{case['recall']:.3f}"


def _growth(results: dict[str, dict[int, dict[str, Any]]]) -> list[str]:
    costs: dict[str, dict[int, float]] = {}
    for form, by_size in results.items():
        for number, way in enumerate(WAYS):
            p50 = {size: float(row["cases"][number]["p50"]) for size, row in by_size.items()}
            if len(p50) > 1:
                costs[f"{way}, {form}"] = p50
    wanted = at_most("exponent of growth", EXPONENT, {n: fit(c).exponent for n, c in costs.items()})
    return [growth(costs), f"- {wanted}\n"] if costs else []


def _loaded(loaded: LargeHome) -> dict[str, Any]:
    return loaded.noted


def _measure(loaded: LargeHome, form: Type) -> dict[str, Any]:
    built = loaded.index(form)
    truth, small = (
        once(loaded.home, f"nearest-{seed}", partial(nearest, chunks, seed))
        for chunks, seed in ((loaded.chunks, 0), (SMALL_CHUNKS, SMALL_SEED))
    )
    store = loaded.store(LARGE)
    keys = MetadataKeys(loaded.database.pool, LARGE)
    keys.forget(COLLECTION, ["near", "random"])
    cases = [_case(store, way, *filter_, truth) for filter_ in FILTERS for way in WAYS]
    keys.declare(COLLECTION, {"near": "text", "random": "text"})
    with loaded.database.owner() as conn:
        conn.execute("VACUUM ANALYZE metadata_value")
    declared = [_case(store, "dense", *filter_, truth) for filter_ in FILTERS[1:]]
    limited = [_case(loaded.store(LARGE, limited=True), way, None, 1.0, {}) for way in WAYS]
    beside = [_case(loaded.store(SMALL), way, None, 1.0, small, loaded.chunks) for way in WAYS]
    return {**built, "cases": cases, "declared": declared, "limited": limited, "small": beside}


def nearest(chunks: int, seed: int) -> Truth:
    """Find each question's K nearest chunks, from 1, among those that each filter leaves."""
    asked = questions(QUESTIONS)
    best: dict[tuple[str | None, float], Any] = {}  # likenesses, and the chunks' numbers
    for block in blocks(chunks, seed, words=False):
        # As they are stored: in half precision.
        likeness = asked @ block.vectors.astype(np.float16).astype(np.float32).T
        for field, share in FILTERS:
            among = np.flatnonzero(block.passing(field, round(BELOW * share)))
            found = likeness[:, among]
            numbers = np.broadcast_to(among + block.first + 1, found.shape)
            former = best.get((field, share))
            if former is not None:
                found = np.concatenate([former[0], found], axis=1)
                numbers = np.concatenate([former[1], numbers], axis=1)
            if found.shape[1] > K:
                places = np.argpartition(-found, K - 1, axis=1)[:, :K]
                found = np.take_along_axis(found, places, axis=1)
                numbers = np.take_along_axis(numbers, places, axis=1)
            best[field, share] = found, numbers
    return {f"{field} {share}": rows.tolist() for (field, share), (_, rows) in best.items()}


def _case(
    store: PostgresStore,
    way: Mode,
    field: str | None,
    share: float,
    truth: Truth,
    before: int = 0,
) -> dict[str, Any]:
    """Time questions after a round to warm up; `before` chunks are numbered before these."""
    where = None if field is None else parse({"lt": {field: f"{round(BELOW * share):04}"}})
    asked = [
        Asked(" ".join(words), vector)
        for words, vector in zip(word_questions(QUESTIONS), questions(QUESTIONS), strict=True)
    ]
    retriever = HybridRetriever(store, Precomputed(SPACE, asked), COLLECTION, way, where)
    until = time.perf_counter() + BUDGET_S / 2
    for n, one in enumerate(asked):
        if where is None or n < FEWEST or time.perf_counter() < until:
            retriever.search(one.text, k=K)
    seconds, recalls = list[float](), list[float]()
    for n, one in enumerate(asked):
        if n >= FEWEST and sum(seconds) > BUDGET_S:
            break
        began = time.perf_counter()
        hits = retriever.search(one.text, k=K)
        seconds.append(time.perf_counter() - began)
        if truth and (true := truth[f"{field} {share}"][n]):
            found = {hit.chunk - before for hit in hits}
            recalls.append(len(found.intersection(true)) / len(true))
    result = {
        "way": way,
        "field": field,
        "share": share,
        "questions": len(seconds),
        "p50": median(seconds),
        "p95": quantiles(seconds, n=20)[-1],
        "recall": fmean(recalls) if recalls and way == "dense" else None,
    }
    print(f"  {result}", flush=True)
    return result
