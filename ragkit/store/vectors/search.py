"""The nearest vectors of a collection: which plan is cheaper, and the plan itself.

Exact: every row of the collection, or of the documents that a filter leaves, is compared.
Walking: the nearest rows of all are taken from the index, as many as k of them should pass; when
fewer do, all are compared. So k rows always come back when k exist.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from psycopg import Cursor
from psycopg.sql import SQL, Composed, Literal

from ragkit.store.vectors.estimate import estimate
from ragkit.store.vectors.layout import Table
from ragkit.store.vectors.packed import Packed, packed_query, register
from ragkit.store.vectors.plan import COMPARE, Plan, plan_for
from ragkit.store.vectors.rows import QUERY
from ragkit.store.vectors.spaces import Place, locate
from ragkit.types import EmbeddingSpace

if TYPE_CHECKING:
    from ragkit.contracts import Vectors
    from ragkit.store.where import Restriction

# OFFSET 0 keeps the planner from walking the index: every row is compared.
_EXACT: Final = SQL("""
    SELECT chunk_id, {similarity} FROM (
        SELECT chunk_id, {distance} AS distance FROM {table}
        WHERE tenant = %(tenant)s AND collection_id = %(collection)s AND {among} OFFSET 0
    ) AS v ORDER BY distance, chunk_id LIMIT %(k)s
""")
# The filter comes after the walk: among the nearest rows of all, those that pass are the nearest of
# those that pass. Rows that are not in the index yet are compared besides.
_WALK: Final = SQL("""
    SELECT chunk_id, {similarity}, walked FROM (
        (SELECT chunk_id, distance, true AS walked FROM (
            SELECT tenant, collection_id, document_id, chunk_id, {distance} AS distance
            FROM {table} WHERE generation <= {indexed} ORDER BY {order} LIMIT %(walked)s) AS v
        WHERE tenant = %(tenant)s AND collection_id = %(collection)s AND {passes})
        UNION ALL
        (SELECT chunk_id, {distance}, false FROM {table} AS v
        WHERE tenant = %(tenant)s AND collection_id = %(collection)s AND generation > {indexed}
            AND {passes} ORDER BY {distance} LIMIT %(k)s)
    ) AS v ORDER BY distance, chunk_id
""")
_AMONG: Final = SQL("""document_id IN (SELECT d.id FROM document d
    WHERE d.tenant = %(tenant)s AND d.collection_id = %(collection)s AND {})""")
_PASSES: Final = SQL("""EXISTS (SELECT FROM document d
    WHERE d.tenant = v.tenant AND d.id = v.document_id AND {})""")
_UP_TO: Final = SQL("""
    SELECT count(*) FROM (SELECT 1 FROM {table}
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s LIMIT %(most)s) AS t
""")
# Without sorting there is no other plan than walking: the planner underrates it beside a filter.
_PREPARE: Final = """
    SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true),
        set_config('hnsw.ef_search', %s, true), set_config('hnsw.max_scan_tuples', %s, true),
        set_config('ivfflat.iterative_scan', 'relaxed_order', true),
        set_config('ivfflat.probes', %s, true), set_config('enable_sort', 'off', true)
"""
# What else a snapshot is asked is planned as ever. The rest only walks go by.
_WALKED: Final = "SET LOCAL enable_sort TO DEFAULT"


def nearest(
    cursor: Cursor[Any],
    space: EmbeddingSpace,
    tenant: str,
    collection: int,
    vector: Vectors,
    k: int,
    where: Restriction | None = None,
    *,
    exact: bool = False,
) -> list[tuple[int, float]]:
    """Find the k chunks of highest similarity, best first; see `Reader.nearest`.

    `exact` compares every row, whatever it costs.
    """
    place = locate(cursor, space, tenant, collection)
    if place is None:
        return []
    if exact:
        query = packed_query(place.table, place.model, vector)
        return search(cursor, place.table, tenant, collection, query, k, where, COMPARE)
    return nearest_in(cursor, place, tenant, collection, vector, k, where)


def nearest_in(
    cursor: Cursor[Any],
    place: Place,
    tenant: str,
    collection: int,
    vector: Vectors,
    k: int,
    where: Restriction | None = None,
) -> list[tuple[int, float]]:
    """Do what `nearest` does, in the place that was located."""
    query = packed_query(place.table, place.model, vector)
    plan = choose(cursor, place, tenant, collection, k, where)
    return search(cursor, place.table, tenant, collection, query, k, where, plan)


def search(
    cursor: Cursor[Any],
    table: Table,
    tenant: str,
    collection: int,
    query: Packed,
    k: int,
    where: Restriction | None,
    plan: Plan,
) -> list[tuple[int, float]]:
    """Carry a plan out; when walking ends before enough rows passed, compare them all."""
    register(cursor)
    values = {
        **({} if where is None else where.values),
        "vector": query,
        "tenant": tenant,
        "collection": collection,
        "k": k,
        "walked": plan.walked,
    }
    if plan.walks:
        with cursor.connection.pipeline():  # all in one round trip
            prepare_walk(cursor, table, plan)
            cursor.execute(_statement(walking, table, where), values)
            cursor.connection.execute(_WALKED)  # by a cursor of its own: this one has the rows
        rows = cursor.fetchall()
        if sum(walked for _, _, walked in rows) >= k:
            return [(int(chunk), float(score)) for chunk, score, _ in rows[:k]]
    rows = cursor.execute(_statement(comparing, table, where), values).fetchall()
    return [(int(chunk), float(score)) for chunk, score in rows]


def choose(
    cursor: Cursor[Any],
    place: Place,
    tenant: str,
    collection: int,
    k: int,
    where: Restriction | None = None,
) -> Plan:
    """Choose the cheaper plan by about how many rows may be found."""
    table, rows = place.table, place.rows
    if not table.indexed:
        return COMPARE
    if rows is None:  # nothing has counted them since another collection's were indexed
        rows = _up_to(cursor, table, tenant, collection, table.rows)
    if where is None:
        return plan_for(table, k, rows=rows, matching=rows)
    matching = estimate(cursor, tenant, collection, where, rows)
    return plan_for(table, k, rows=rows, matching=matching, filtered=True)


def prepare_walk(cursor: Cursor[Any], table: Table, plan: Plan) -> None:
    """Set the transaction up for walking the index; `search` lets it sort again afterwards."""
    probes = table.effort if table.layout.kind == "ivfflat" else 1
    # A row that is looked at is not yet one that is come to; pgvector's own default is 20,000.
    looked_at = max(20_000, 40 * plan.walked)
    cursor.execute(_PREPARE, (str(plan.ef_search), str(looked_at), str(probes)))


def walking(table: Table, where: Restriction | None = None) -> Composed:
    """Write the statement that walks the index."""
    return _WALK.format(
        table=table.identifier,
        similarity=table.similarity(SQL("distance")),
        distance=table.distance(QUERY),
        order=table.order(QUERY),
        indexed=Literal(table.indexed),
        passes=SQL("true") if where is None else _PASSES.format(where.condition),
    )


def comparing(table: Table, where: Restriction | None = None) -> Composed:
    """Write the statement that compares every row."""
    return _EXACT.format(
        table=table.identifier,
        similarity=table.similarity(SQL("distance")),
        distance=table.distance(QUERY),
        among=SQL("true") if where is None else _AMONG.format(where.condition),
    )


def _statement(
    write: Callable[[Table, Restriction | None], Composed], table: Table, where: Restriction | None
) -> bytes | Composed:
    return _plain(write, table) if where is None else write(table, where)


@lru_cache(maxsize=64)
def _plain(write: Callable[[Table, Restriction | None], Composed], table: Table) -> bytes:
    """Keep a statement without a filter: writing it takes as long as searching an index."""
    return write(table, None).as_bytes(None)


def _up_to(cursor: Cursor[Any], table: Table, tenant: str, collection: int, most: int) -> int:
    statement = _UP_TO.format(table=table.identifier)
    values = {"tenant": tenant, "collection": collection, "most": most}
    row = cursor.execute(statement, values).fetchone()
    assert row is not None
    return int(row[0])
