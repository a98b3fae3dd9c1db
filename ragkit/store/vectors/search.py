"""The nearest vectors of a collection: which plan is cheaper, and the plan itself.

Exact: every row of the collection, or of the documents that a filter leaves, is compared.
Walking: the nearest rows of all are taken from the index until k of them passed and some
to spare; when fewer do of as many as it should take, all are compared. So k rows always come back
when k exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from psycopg import Cursor
from psycopg.sql import SQL, Composable, Composed, Literal, Placeholder

from ragkit.store.connection.identity import on_cluster
from ragkit.store.vectors.estimate import estimate
from ragkit.store.vectors.layout import Table
from ragkit.store.vectors.packed import Packed, pack_numbers, packed_query, register
from ragkit.store.vectors.plan import COMPARE, Plan, plan_for
from ragkit.store.vectors.rows import QUERY
from ragkit.store.vectors.spaces import Place, locate
from ragkit.types import EmbeddingSpace

if TYPE_CHECKING:
    from ragkit.contracts import Vectors
    from ragkit.store.documents.filter_sql import Restriction
    from ragkit.store.session import Session

# OFFSET 0 keeps the planner from walking the index: every row is compared.
_EXACT: Final = SQL("""
    SELECT chunk_id, {similarity} FROM (
        SELECT chunk_id, {distance} AS distance FROM {table}
        WHERE tenant = %(tenant)s AND collection_id = %(collection)s OFFSET 0
    ) AS v ORDER BY distance, chunk_id LIMIT %(k)s
""")
# Documents first, then their vectors: the planner has no choice of its own, which it makes badly
# beside a filter.
_EXACT_AMONG: Final = SQL("""
    SELECT chunk_id, {similarity} FROM (
        SELECT d.id FROM visible_document d
        WHERE d.tenant = %(tenant)s AND d.collection_id = %(collection)s AND {among} OFFSET 0
    ) AS d CROSS JOIN LATERAL (
        SELECT chunk_id, {distance} AS distance FROM {table}
        WHERE tenant = %(tenant)s AND collection_id = %(collection)s AND document_id = d.id OFFSET 0
    ) AS v ORDER BY distance, chunk_id LIMIT %(k)s
""")
# The same where the planner has no statistics yet, to choose the right index by for a document's
# vectors: all of the collection's are gone through, and their documents looked up in a hash table.
# IS TRUE and unnest have the planner neither make a join of it nor doubt that the table fits.
_EXACT_HASHED: Final = SQL("""
    SELECT chunk_id, {similarity} FROM (
        SELECT chunk_id, {distance} AS distance FROM {table}
        WHERE tenant = %(tenant)s AND collection_id = %(collection)s
            AND (document_id IN (SELECT unnest(ARRAY(SELECT d.id FROM visible_document d
                WHERE d.tenant = %(tenant)s AND d.collection_id = %(collection)s AND {among})))
            ) IS TRUE OFFSET 0
    ) AS v ORDER BY distance, chunk_id LIMIT %(k)s
""")
# The filter comes after the walk: among the nearest rows of all, those that pass are the nearest of
# those that pass. Rows that are not in the index yet are compared besides.
_WALK: Final = SQL("""
    SELECT chunk_id, {similarity}, walked FROM (
        (SELECT chunk_id, distance, true AS walked FROM (
            SELECT tenant, collection_id, document_id, chunk_id, {distance} AS distance
            FROM {table} WHERE {own}generation <= {indexed} ORDER BY {order} LIMIT {walked}) AS v
        WHERE tenant = %(tenant)s AND collection_id = %(collection)s AND {passes} LIMIT {enough})
        UNION ALL
        (SELECT chunk_id, {distance}, false FROM {table} AS v
        WHERE tenant = %(tenant)s AND collection_id = %(collection)s AND generation > {indexed}
            AND {passes} ORDER BY {distance} LIMIT {k})
    ) AS v ORDER BY distance, chunk_id
""")
# A value, not EXISTS, which can become a join of all documents: rows are judged one by one, as they
# come, and no more of them when enough passed.
_PASSES: Final = SQL("""(SELECT {} FROM visible_document d
    WHERE d.tenant = v.tenant AND d.id = v.document_id)""")
_SIMILARITIES: Final = SQL("""
    SELECT chunk_id, {similarity} FROM (
        SELECT chunk_id, {distance} AS distance FROM {table}
        WHERE tenant = %(tenant)s AND chunk_id = ANY(%(chunks)s)) AS v
""")
_UP_TO: Final = SQL("""
    SELECT count(*) FROM (SELECT 1 FROM {table}
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s LIMIT %(limit)s) AS t
""")
# On a cluster the walk is that of the tenant's node, whose index takes the tenant's rows alone.
_OWN_ROWS: Final = SQL("tenant = %(tenant)s AND ")
# Without sorting there is no other plan than walking: the planner underrates it beside a filter.
_SETTINGS: Final[Mapping[str, str]] = {
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.ef_search": "%(ef_search)s",
    "hnsw.max_scan_tuples": "%(tuples)s",
    "ivfflat.iterative_scan": "relaxed_order",
    "ivfflat.probes": "%(probes)s",
    "enable_sort": "off",
}
_PREPARE: Final = "SELECT " + ", ".join(
    f"set_config('{name}', {value if value.startswith('%') else repr(value)}, true)"
    for name, value in _SETTINGS.items()
)
# Where the planner walks by itself, whatever a page costs: seen at 8 to 900 dimensions.
SURE_ROWS: Final = 10_000
SURE_SHARE: Final = 20
SURE_BYTES: Final = 1_800
MOST_WALKED: Final = 500  # with what every connection has set; arbitrary
# What transactions have set hnsw.ef_search to; each has a cursor of its own.
_EFFORTS: Final[WeakKeyDictionary[Cursor[Any], int]] = WeakKeyDictionary()
_K: Final = Placeholder("k")
_WALKED_ROWS: Final = Placeholder("walked")
_ENOUGH: Final = Placeholder("enough")
# The snapshot's other statements are planned as usual; only walks use the other settings.
_WALKED: Final = "SET LOCAL enable_sort TO DEFAULT"


def nearest(
    session: Session,
    space: EmbeddingSpace,
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
    place = locate(session, space, collection)
    if place is None:
        return []
    if exact:
        query = packed_query(place.table, place.model, vector)
        analysed = place.analysed
        return search(session, place.table, collection, query, k, where, COMPARE, analysed=analysed)
    return nearest_in(session, place, collection, vector, k, where)


def nearest_in(
    session: Session,
    place: Place,
    collection: int,
    vector: Vectors,
    k: int,
    where: Restriction | None = None,
) -> list[tuple[int, float]]:
    """Do what `nearest` does, in the place that was located."""
    return search(
        session,
        place.table,
        collection,
        packed_query(place.table, place.model, vector),
        k,
        where,
        choose(session, place, collection, k, where),
        analysed=place.analysed,
        ef_search=place.ef_search,
    )


def search(
    session: Session,
    table: Table,
    collection: int,
    query: Packed,
    k: int,
    where: Restriction | None,
    plan: Plan,
    *,
    analysed: bool = True,
    ef_search: int | None = None,
) -> list[tuple[int, float]]:
    """Carry a plan out; when walking ends before enough rows passed, compare them all.

    `analysed` tells whether the planner has statistics of the collection, `ef_search` how hard
    HNSW is searched now; None where it is not set up for walking.
    """
    register(session.cursor)
    values = {
        **({} if where is None else where.values),
        "vector": query,
        "collection": collection,
        "k": k,
        "walked": plan.walked,
        "enough": plan.enough,
    }
    condition = _condition(where)
    is_cluster = on_cluster(session.cursor.connection)
    for walked, enough in _attempts(table, plan, k):
        statement = _walk(table, k, walked, enough, condition, is_cluster)
        rows = _walk_through(session, table, plan, statement, values, ef_search)
        if sum(is_walked for _, _, is_walked in rows) >= k:
            return [(chunk, score) for chunk, score, _ in rows[:k]]
    comparison = _comparison(table, condition, analysed)
    return session.execute(comparison, values, binary=True).fetchall()


def _attempts(table: Table, plan: Plan, k: int) -> Iterator[tuple[int, int | None]]:
    """List how many rows of the index are taken at most, and how many that passed are enough.

    What the index gathers at once comes in order, so that the first k are the nearest, unless it
    is over a coarser form. Only where there are fewer it goes on, when nearer ones may come later.
    """
    if plan.enough is not None and plan.walked > plan.ef_search and not table.reranks:
        yield plan.ef_search, k
    if plan.walks:
        yield plan.walked, plan.enough


def _walk_through(
    session: Session,
    table: Table,
    plan: Plan,
    statement: bytes,
    values: Mapping[str, object],
    ef_search: int | None,
) -> list[tuple[int, float, bool]]:
    """Walk the index, with what this needs set before; `ef_search` is the connection's own."""
    if _is_certain(table, plan) and ef_search is not None:
        if _EFFORTS.get(session.cursor, ef_search) != plan.ef_search:
            session.cursor.execute(b"SET LOCAL hnsw.ef_search = %d" % plan.ef_search)
            _EFFORTS[session.cursor] = plan.ef_search
        return session.execute(statement, values, prepare=True, binary=True).fetchall()
    conn = session.cursor.connection
    with conn.pipeline():  # all in one round trip
        prepare_walk(session, table, plan)
        session.execute(statement, values, prepare=True, binary=True)
        conn.execute(_WALKED)  # by another cursor: this one has the rows
    return session.cursor.fetchall()


def similarities(
    session: Session, table: Table, model: str, vector: Vectors, chunks: Sequence[int]
) -> dict[int, float]:
    """Compute each of these chunks' similarity; one without a vector there is absent."""
    register(session.cursor)
    values = {"vector": packed_query(table, model, vector), "chunks": pack_numbers(chunks)}
    rows = session.execute(_similarities(table), values, prepare=True, binary=True)
    return dict(rows.fetchall())


def choose(
    session: Session, place: Place, collection: int, k: int, where: Restriction | None = None
) -> Plan:
    """Choose the cheaper plan by about how many rows may be found."""
    table, rows = place.table, place.rows
    if not table.indexed:
        return COMPARE
    if rows is None:  # not counted since another collection's were indexed
        rows = _count_up_to(session, table, collection, table.rows)
    if where is None:
        return plan_for(table, k, rows=rows, matching=rows)
    if not plan_for(table, k, rows=rows, matching=rows, filtered=True).walks:
        return COMPARE  # comparing the matching rows costs less than estimating how many
    matching = estimate(session, collection, where, rows)
    return plan_for(table, k, rows=rows, matching=matching, filtered=True)


def _is_certain(table: Table, plan: Plan) -> bool:
    """Tell whether a walk needs no more set than a connection has, except for its effort.

    PostgreSQL counts the bytes in a row itself, not those moved out of a long one.
    """
    row_bytes = table.dimension * (4 if table.stored == "vector" else 2)
    return (
        table.layout.kind == "hnsw"
        and plan.walked <= MOST_WALKED
        and not table.reranks
        and row_bytes <= SURE_BYTES
        and max(SURE_ROWS, SURE_SHARE * plan.walked) <= table.rows
    )


def prepare_walk(session: Session, table: Table, plan: Plan) -> None:
    """Set the session up for walking the index; `search` lets it sort again afterwards."""
    probes = table.effort if table.layout.kind == "ivfflat" else 1
    # More rows are read than walked over; pgvector's own default is 20,000.
    tuples = 40 * max(MOST_WALKED, plan.walked)
    values = {"ef_search": str(plan.ef_search), "tuples": str(tuples), "probes": str(probes)}
    if not on_cluster(session.cursor.connection):
        session.execute(_PREPARE, values, prepare=True)
        return
    for name, value in _SETTINGS.items():  # set_config() does not reach the nodes
        session.cursor.execute(f"SET LOCAL {name} = '{value % values}'".encode())


def walking(
    table: Table,
    where: Restriction | None = None,
    *,
    k: Composable = _K,
    walked: Composable = _WALKED_ROWS,
    enough: Composable = _ENOUGH,
    is_cluster: bool = False,
) -> Composed:
    """Write the statement that walks the index."""
    return _WALK.format(
        own=_OWN_ROWS if is_cluster else SQL(""),
        table=table.identifier,
        similarity=table.similarity(SQL("distance")),
        distance=table.distance(QUERY),
        order=table.order(QUERY),
        indexed=Literal(table.indexed),
        passes=SQL("true") if where is None else _PASSES.format(where.condition),
        k=k,
        walked=walked,
        enough=enough,
    )


def comparing(table: Table, where: Restriction | None = None, analysed: bool = True) -> Composed:
    """Write the statement that compares every row."""
    filtered = _EXACT_AMONG if analysed else _EXACT_HASHED
    return (_EXACT if where is None else filtered).format(
        table=table.identifier,
        similarity=table.similarity(SQL("distance")),
        distance=table.distance(QUERY),
        among=SQL("true") if where is None else where.condition,
    )


@lru_cache(maxsize=64)
def _similarities(table: Table) -> bytes:
    statement = _SIMILARITIES.format(
        similarity=table.similarity(SQL("distance")),
        distance=table.distance(QUERY),
        table=table.identifier,
    )
    return statement.as_bytes(None)


# Statements are cached: writing one takes as long as searching an index.
@lru_cache(maxsize=256)
def _comparison(table: Table, condition: str | None, analysed: bool) -> bytes:
    return comparing(table, _restriction(condition), analysed).as_bytes(None)


@lru_cache(maxsize=256)
def _walk(
    table: Table,
    k: int,
    walked: int,
    enough: int | None,
    condition: str | None,
    is_cluster: bool,
) -> bytes:
    """Write a walk with its numbers in it, for a prepared statement.

    With parameters instead, PostgreSQL would plan for a tenth of all rows, and so every time anew.
    """
    numbers = {"k": Literal(k), "walked": Literal(walked), "enough": Literal(enough)}
    where = _restriction(condition)
    return walking(table, where, **numbers, is_cluster=is_cluster).as_bytes(None)


def _condition(where: Restriction | None) -> str | None:
    """Write a condition without its values, as the key that statements are cached by."""
    return None if where is None else where.condition.as_string(None)


def _restriction(condition: str | None) -> Restriction | None:
    from ragkit.store.documents.filter_sql import Restriction

    return None if condition is None else Restriction(SQL(condition), {})


def _count_up_to(session: Session, table: Table, collection: int, limit: int) -> int:
    statement = _UP_TO.format(table=table.identifier)
    return int(session.value(statement, {"collection": collection, "limit": limit}))
