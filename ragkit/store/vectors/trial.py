"""Compare a vector index with exact search: the recall of each effort, and how long it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import mean, median, quantiles
from time import perf_counter
from typing import TYPE_CHECKING, Final

from psycopg.sql import SQL

from ragkit.store.vectors.layout import MOST_EF_SEARCH, Table, lists
from ragkit.store.vectors.packed import packed_query
from ragkit.store.vectors.plan import COMPARE, Plan
from ragkit.store.vectors.search import choose, search
from ragkit.store.vectors.spaces import Place

if TYPE_CHECKING:
    from ragkit.contracts import Vectors
    from ragkit.store.documents.filter_sql import Restriction
    from ragkit.store.session import Session

_SAMPLE: Final = SQL("""
    SELECT embedding::vector::real[] FROM {} WHERE tenant = %(tenant)s
        AND collection_id = %(collection)s AND {}
    ORDER BY hashint8extended(chunk_id, 0) LIMIT %(n)s
""")


@dataclass(frozen=True, slots=True)
class Effort:
    """The recall of the true k at an effort, 0 to 1, and the milliseconds of a search.

    `walked` is the share of the searches that the index answered; the others compared every row.
    """

    effort: int
    recall: float
    p50_ms: float
    p95_ms: float
    walked: float


@dataclass(frozen=True, slots=True)
class Trial:
    """A collection's index tried out: its kind, and each effort from the least to the most.

    `index` is "none" where every search compares all rows: then there are no efforts. `indexed`
    counts the rows in it, of all collections; `now` is the effort that searches take.
    """

    index: str
    indexed: int
    queries: int
    k: int
    now: int
    exact_p50_ms: float
    efforts: tuple[Effort, ...] = ()

    def least(self, target: float) -> Effort | None:
        """Return the least effort that reaches a recall, if one does."""
        return next((item for item in self.efforts if item.recall >= target), None)


def efforts_of(table: Table) -> tuple[int, ...]:
    """Choose the efforts worth trying."""
    if table.layout.kind == "ivfflat":
        most = lists(table.rows)
        powers = [2**n for n in range(most.bit_length()) if 2**n < most]
        return tuple(sorted({*powers, most, min(most, table.effort)}))
    steps = {20, 40, 80, 120, 200, 400, 700, MOST_EF_SEARCH}
    return tuple(sorted(steps | {min(MOST_EF_SEARCH, table.effort)}))


def sample(
    session: Session,
    table: Table,
    collection: int,
    n: int,
    where: Restriction | None = None,
) -> Vectors:
    """Draw n of a collection's vectors, the same ones every time; shape (n or fewer, dimension)."""
    import numpy as np

    among = SQL("true")
    if where is not None:
        among = SQL(
            "document_id IN (SELECT d.id FROM visible_document d WHERE d.tenant = %(tenant)s"
            " AND d.collection_id = %(collection)s AND {})"
        ).format(where.condition)  # type: ignore[assignment]
    values = {**(where.values if where else {}), "collection": collection, "n": n}
    rows = session.execute(_SAMPLE.format(table.identifier, among), values).fetchall()
    return np.array([row[0] for row in rows], np.float32).reshape(-1, table.dimension)


def trial(
    session: Session,
    place: Place,
    collection: int,
    queries: Vectors,
    k: int,
    where: Restriction | None = None,
    *,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Trial:
    """Search for every query exactly, and then by each effort, as a search itself would."""
    table = place.table
    efforts = efforts_of(table) if table.indexed else ()
    total = len(queries) * (1 + len(efforts))
    packed = [packed_query(table, place.model, query) for query in queries]
    done = 0

    def timed(table: Table, plan: Plan | None) -> tuple[list[list[int]], list[float], float]:
        nonlocal done
        results, times, walks = [], [], 0
        for query in packed:
            start = perf_counter()
            chosen = plan or choose(session, replace(place, table=table), collection, k, where)
            rows = search(session, table, collection, query, k, where, chosen)
            times.append((perf_counter() - start) * 1000)
            results.append([chunk for chunk, _ in rows])
            walks += chosen.walks
            done += 1
            on_progress(done, total)
        return results, times, walks / len(packed)

    true, exact_ms, _ = timed(table, COMPARE)
    measured = []
    for effort in efforts:
        harder = replace(table, layout=replace(table.layout, effort=effort))
        results, times, walked = timed(harder, None)
        recall = _recall(results, true)
        measured.append(Effort(effort, recall, median(times), _p95(times), walked))
    if not any(item.walked for item in measured):
        measured = []
    return Trial(
        index=table.layout.kind if measured else "none",
        indexed=table.rows,
        queries=len(queries),
        k=k,
        now=table.effort,
        exact_p50_ms=median(exact_ms),
        efforts=tuple(measured),
    )


def _recall(results: Sequence[Sequence[int]], true: Sequence[Sequence[int]]) -> float:
    """Average over the queries for which there is anything to find."""
    pairs = [(set(a), set(b)) for a, b in zip(results, true, strict=True) if b]
    return mean(len(a & b) / len(b) for a, b in pairs) if pairs else 1.0


def _p95(times: Sequence[float]) -> float:
    return quantiles(times, n=20)[-1] if len(times) > 1 else times[0]
