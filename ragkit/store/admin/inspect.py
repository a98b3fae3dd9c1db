"""Examine the store for the doctor: versions, plans, orphans. Changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from psycopg import sql

from ragkit.store import vectors
from ragkit.store.connection.identity import on_cluster
from ragkit.store.documents.chunks import HITS
from ragkit.store.vectors.packed import packed_query, register
from ragkit.store.vectors.search import choose, prepare_walk, walking
from ragkit.store.words import postings
from ragkit.types import EmbeddingSpace

if TYPE_CHECKING:
    from ragkit.store.session import Session

_MANY_ROWS = 2_000  # below, reading the whole table is the better plan
_HALF_EMPTY = """
    SELECT count(*) FROM document d WHERE d.tenant = %(tenant)s
        AND NOT EXISTS (SELECT 1 FROM chunk c WHERE c.tenant = d.tenant AND c.document_id = d.id)
"""
_OUT_OF_TEXT = """
    SELECT count(*) FROM chunk c JOIN document d ON d.tenant = c.tenant AND d.id = c.document_id
    WHERE c.tenant = %(tenant)s AND greatest(c.end_char, c.lead_end, c.parent_end) > d.chars
"""
_TRUNCATED = """
    SELECT count(*) FROM chunk k JOIN collection c ON c.tenant = k.tenant AND c.id = k.collection_id
    WHERE k.tenant = %(tenant)s AND c.name = %(name)s AND k.tokens > %(max_tokens)s
"""
_UNCOUNTED = """
    SELECT count(*) FROM (
        SELECT (SELECT count(*) FROM chunk k
                WHERE k.tenant = c.tenant AND k.collection_id = c.id)
            - (SELECT coalesce(sum(s.chunks), 0) FROM lexical_segment s
                WHERE s.tenant = c.tenant AND s.collection_id = c.id)
            + (SELECT count(*) FROM lexical_tombstone t
                WHERE t.tenant = c.tenant AND t.collection_id = c.id) AS missing
        FROM collection c WHERE c.tenant = %(tenant)s) AS t WHERE missing <> 0
"""
_FAILED_JOBS = """
    SELECT count(*) FROM job WHERE tenant = %(tenant)s AND state = 'failed' AND kind = 'ingest'
"""
_SPACES = "SELECT model, revision, dimension, query_prefix, passage_prefix FROM embedding_space"
_LARGEST = """
    SELECT collection_id, min(id) FROM chunk k WHERE tenant = %(tenant)s AND EXISTS (
        SELECT FROM collection c WHERE (c.tenant, c.id) = (k.tenant, collection_id)
            AND versions_of IS NULL)
    GROUP BY collection_id ORDER BY count(*) DESC LIMIT 1
"""
_TENANT_VECTORS = sql.SQL("""
    SELECT count(*), count(*) FILTER (WHERE generation > %(indexed)s) FROM {}
    WHERE tenant = %(tenant)s
""")
_INVALID_INDEXES = """
    SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE NOT i.indisvalid AND pg_table_is_visible(c.oid) ORDER BY 1
"""


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of the server and of pgvector."""

    postgres: str
    pgvector: str


@dataclass(frozen=True, slots=True)
class PlanFinding:
    """A search whose plan reads all of a large table instead of its index."""

    query: str
    table: str
    rows: int


def versions(session: Session) -> Versions:
    """Return the versions of PostgreSQL and pgvector."""
    row = session.row(
        "SELECT current_setting('server_version'),"
        " (SELECT extversion FROM pg_extension WHERE extname = 'vector')"
    )
    assert row is not None
    return Versions(str(row[0]), str(row[1]))


def orphans(session: Session) -> dict[str, int]:
    """Count rows that do not belong together, by their kind; all zero in a sound store."""
    return {
        "documents without chunks": session.value(_HALF_EMPTY),
        "chunks outside their text": session.value(_OUT_OF_TEXT),
        "chunks without a vector": _without_vector(session),
        "collections whose word index misses chunks": session.value(_UNCOUNTED),
    }


def truncated(session: Session, collection: str, max_tokens: int) -> int:
    """Count a collection's chunks that are longer than its embedding model reads."""
    return int(session.value(_TRUNCATED, {"name": collection, "max_tokens": max_tokens}))


def failed_jobs(session: Session) -> int:
    """Count the jobs of ingestion that have failed."""
    return int(session.value(_FAILED_JOBS))


def invalid_indexes(session: Session) -> list[str]:
    """Name indexes that an interrupted build left behind; PostgreSQL does not use them."""
    return [str(name) for (name,) in session.execute(_INVALID_INDEXES)]


def unused_indexes(session: Session) -> tuple[list[str], list[PlanFinding]]:
    """Plan the statements of a search; return the indexes they use and the full table scans.

    A full scan counts only where the table has more than a few thousand rows.
    """
    used: set[str] = set()
    findings: list[PlanFinding] = []
    for name, statement, values in _searches(session):
        explained = session.value(sql.SQL("EXPLAIN (FORMAT JSON) ") + statement, values)
        for node in _nodes(explained):
            if "Index Name" in node:
                used.add(_of_shard(node["Index Name"]))
            if node.get("Node Type") == "Seq Scan":
                table = _of_shard(node["Relation Name"])
                rows = _table_rows(session, table) or int(node["Plan Rows"])  # of a shard
                if rows > _MANY_ROWS:
                    findings.append(PlanFinding(name, table, rows))
    return sorted(used), findings


def own_vectors(session: Session, table: vectors.Table) -> tuple[int, int]:
    """Count a tenant's vectors in a space's table, and those of them outside its index."""
    statement = _TENANT_VECTORS.format(table.identifier)
    row = session.row(statement, {"indexed": table.indexed})
    assert row is not None
    return int(row[0]), int(row[1])


def _searches(
    session: Session,
) -> Iterator[tuple[str, sql.Composable, dict[str, Any]]]:
    """Yield the statements that searches of the largest collection run, with plausible values."""
    row = session.row(_LARGEST)
    if row is None:
        return
    collection, chunk = row
    values = {"collection": collection, "terms": ["the"], "segments": [0]}
    yield "words", sql.SQL(postings.POSTINGS), values
    yield "passages", sql.SQL(HITS), {"chunks": [chunk]}
    import numpy as np

    for row in session.execute(_SPACES).fetchall():
        place = vectors.locate(session, EmbeddingSpace(*row), collection)
        assert place is not None
        table, plan = place.table, choose(session, place, collection, 10)
        if not plan.walks:
            continue
        prepare_walk(session, table, plan)
        values = {
            "vector": packed_query(table, "", np.ones(table.dimension, np.float32)),
            "collection": collection,
            "k": 10,
            "walked": plan.walked,
            "enough": plan.enough,
        }
        register(session.cursor)
        is_cluster = on_cluster(session.cursor.connection)
        yield "vectors", walking(table, is_cluster=is_cluster), values


def _nodes(explained: Any) -> Iterator[dict[str, Any]]:
    """Yield the nodes of a plan, those that run on other servers among them."""
    if isinstance(explained, dict):
        yield explained
    if isinstance(explained, dict | list):
        for child in explained.values() if isinstance(explained, dict) else explained:
            yield from _nodes(child)


def _of_shard(name: str) -> str:
    """Name the table or index that a shard's is a part of.

    >>> _of_shard("chunk_102034"), _of_shard("vectors_1")
    ('chunk', 'vectors_1')
    """
    return re.sub(r"_\d{6,}$", "", name)


def _table_rows(session: Session, table: str) -> int:
    row = session.row(
        "SELECT greatest(reltuples, 0)::bigint FROM pg_class"
        " WHERE relname = %(table)s AND pg_table_is_visible(oid)",
        {"table": table},
    )
    return 0 if row is None else int(row[0])


def _without_vector(session: Session) -> int:
    spaces = [space_id for (space_id,) in session.execute("SELECT id FROM embedding_space")]
    missing = [
        sql.SQL(
            "NOT EXISTS (SELECT 1 FROM {} v WHERE v.tenant = c.tenant AND v.chunk_id = c.id)"
        ).format(sql.Identifier(vectors.table_name(space_id)))
        for space_id in spaces
    ]
    # Old versions keep to the space that they were current in, which may be dropped by now.
    query = sql.SQL(
        "SELECT count(*) FROM chunk c JOIN collection n ON n.tenant = c.tenant"
        " AND n.id = c.collection_id AND n.versions_of IS NULL WHERE c.tenant = %(tenant)s"
    )
    return int(session.value(sql.SQL(" AND ").join([query, *missing])))
