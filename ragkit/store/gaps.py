"""The passages of a collection that have no vector in one of its spaces, and filling them in.

What is missing is always computed from what is there, so that work can be broken off at any time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, LiteralString

from psycopg import sql

from ragkit.store import documents, vectors
from ragkit.store.chunks import LEAD, TEXT
from ragkit.store.lending import transaction
from ragkit.store.rows import first_value
from ragkit.text.passage import indexed_text

if TYPE_CHECKING:
    from psycopg import Connection, Cursor
    from psycopg_pool import ConnectionPool

    from ragkit.contracts import Vectors

_PASSAGE: Final = f"SELECT c.id, {TEXT}, {LEAD}, d.title, c.headings, c.tokens"
_BATCH: Final[LiteralString] = f"""
    {_PASSAGE}
    FROM chunk c JOIN document d ON d.tenant = c.tenant AND d.id = c.document_id
    WHERE c.tenant = %(tenant)s AND c.collection_id = %(collection)s AND c.id > %(after)s
        AND {{missing}}
    ORDER BY c.id LIMIT %(limit)s
"""
_SAMPLE: Final = f"""
    {_PASSAGE}
    FROM (
        SELECT * FROM chunk WHERE tenant = %(tenant)s AND collection_id = %(collection)s
        ORDER BY md5(id::text) LIMIT %(limit)s
    ) c JOIN document d ON d.tenant = c.tenant AND d.id = c.document_id
    ORDER BY md5(c.id::text)
"""  # noqa: S608  built from constants only
_COUNT: Final = """
    SELECT count(*) FROM chunk c
    WHERE c.tenant = %(tenant)s AND c.collection_id = %(collection)s AND {missing}
"""
_STILL: Final = """
    SELECT c.id FROM chunk c
    WHERE c.tenant = %(tenant)s AND c.collection_id = %(collection)s AND c.id = ANY(%(chunks)s)
        AND {missing}
    ORDER BY c.id FOR KEY SHARE
"""
_HAS_NONE: Final = """
    NOT EXISTS (SELECT 1 FROM {table} v WHERE v.tenant = c.tenant AND v.chunk_id = c.id)
"""


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk without a vector: its id, its text after its lead, its tokens as they were counted
    when stored; and its document's title and the headings it stands under."""

    chunk: int
    text: str
    tokens: int
    title: str = ""
    headings: tuple[str, ...] = ()


class Gaps:
    """What one collection lacks in one space; methods raise NotFoundError when it is deleted."""

    def __init__(
        self, pool: ConnectionPool[Connection[Any]], tenant: str, collection: str, space_id: int
    ) -> None:
        self._pool = pool
        self._tenant = tenant
        self._collection = collection
        self._space_id = space_id

    def passages(self) -> int:
        """Count all passages of the collection."""
        with self._in() as (cursor, collection_id):
            query = "SELECT count(*) FROM chunk WHERE tenant = %s AND collection_id = %s"
            return int(first_value(cursor, query, (self._tenant, collection_id)))

    def missing(self) -> int:
        """Count those without a vector."""
        with self._in() as (cursor, collection_id):
            return count_missing(cursor, self._tenant, collection_id, self._space_id)

    def batch(self, *, after: int, limit: int) -> list[Passage]:
        """Read the next of those without a vector, by their ids above `after`."""
        with self._in() as (cursor, collection_id):
            values = {**self._named(collection_id), "after": after, "limit": limit}
            query = _with_missing(_BATCH, self._space_id)
            return [_passage(*row) for row in cursor.execute(query, values)]

    def add(self, chunks: Sequence[int], rows: Vectors) -> int:
        """Add vectors of passages that are still there and have none; return how many.

        `rows` has shape (len(chunks), dimension).
        """
        with self._in() as (cursor, collection_id):
            key = (f"ragkit vectors {self._space_id}",)
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", key)
            query = _with_missing(_STILL, self._space_id)
            values = {**self._named(collection_id), "chunks": list(chunks)}
            wanted = {int(row[0]) for row in cursor.execute(query, values)}
            places = [n for n, chunk in enumerate(chunks) if chunk in wanted]
            of = [chunks[n] for n in places]
            vectors.copy_vectors(
                cursor, self._space_id, self._tenant, collection_id, of, rows[places]
            )
            return len(of)

    def sample(self, count: int) -> list[Passage]:
        """Draw passages, always the same as long as the collection does not change."""
        with self._in() as (cursor, collection_id):
            values = {**self._named(collection_id), "limit": count}
            return [_passage(*row) for row in cursor.execute(_SAMPLE, values)]

    def _named(self, collection_id: int) -> dict[str, object]:
        return {"tenant": self._tenant, "collection": collection_id}

    @contextmanager
    def _in(self) -> Iterator[tuple[Cursor[Any], int]]:
        with transaction(self._pool, self._tenant) as cursor:
            yield cursor, documents.collection_id(cursor, self._tenant, self._collection)


def _passage(
    chunk: int, text: str, lead: str, title: str, headings: Sequence[str], tokens: int
) -> Passage:
    return Passage(chunk, indexed_text(text, lead), tokens, title, tuple(headings))


def count_missing(cursor: Cursor[Any], tenant: str, collection: int, space_id: int) -> int:
    """Count a collection's passages without a vector in a space."""
    values = {"tenant": tenant, "collection": collection}
    return int(first_value(cursor, _with_missing(_COUNT, space_id), values))


def vector_table(space_id: int) -> sql.Identifier:
    return sql.Identifier(vectors.table_name(space_id))


def _with_missing(query: LiteralString, space_id: int) -> sql.Composed:
    missing = sql.SQL(_HAS_NONE).format(table=vector_table(space_id))
    return sql.SQL(query).format(missing=missing)
