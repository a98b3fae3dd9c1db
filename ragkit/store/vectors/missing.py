"""Gaps: the passages of a collection that have no vector in one of its spaces, and filling them.

They are always computed from the stored rows, so that the work can be broken off at any time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, LiteralString

from psycopg import sql

from ragkit.store import vectors
from ragkit.store.documents.chunks import LEAD, TEXT
from ragkit.store.session import TenantSessions
from ragkit.text.passage import indexed_text

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

    from ragkit.contracts import Vectors
    from ragkit.store.session import Session

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
_COUNT_ALL: Final = """
    SELECT count(*) FROM chunk WHERE tenant = %(tenant)s AND collection_id = %(collection)s
"""
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtext(%(name)s))"
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
    """A chunk without a vector: its id, its text after its lead, its number of tokens when stored.

    `title` is its document's, and `headings` are those over it.
    """

    chunk: int
    text: str
    tokens: int
    title: str = ""
    headings: tuple[str, ...] = ()


class Gaps(TenantSessions):
    """The gaps of one collection in one space; methods raise NotFoundError when it is deleted."""

    def __init__(
        self, pool: ConnectionPool[Connection[Any]], tenant: str, collection: str, space_id: int
    ) -> None:
        super().__init__(pool, tenant)
        self._collection = collection
        self._space_id = space_id

    def passages(self) -> int:
        """Count all passages of the collection."""
        with self._in_collection(self._collection) as (session, number):
            return int(session.value(_COUNT_ALL, {"collection": number}))

    def missing(self) -> int:
        """Count the passages without a vector."""
        with self._in_collection(self._collection) as (session, number):
            return count_missing(session, number, self._space_id)

    def batch(self, *, after: int, limit: int) -> list[Passage]:
        """Read the next passages without a vector, by their ids above `after`."""
        with self._in_collection(self._collection) as (session, number):
            values = {"collection": number, "after": after, "limit": limit}
            rows = session.execute(_with_missing(_BATCH, self._space_id), values)
            return [_passage(*row) for row in rows]

    def add(self, chunks: Sequence[int], rows: Vectors) -> int:
        """Add vectors of passages that still exist and have none; return how many.

        `rows` has shape (len(chunks), dimension).
        """
        with self._in_collection(self._collection) as (session, number):
            session.execute(_LOCK, {"name": f"ragkit vectors {self._space_id}"})
            statement = _with_missing(_STILL, self._space_id)
            values = {"collection": number, "chunks": list(chunks)}
            missing = {int(row[0]) for row in session.execute(statement, values)}
            places = [n for n, chunk in enumerate(chunks) if chunk in missing]
            added = [chunks[n] for n in places]
            vectors.copy_vectors(session, self._space_id, number, added, rows[places])
            return len(added)

    def sample(self, count: int) -> list[Passage]:
        """Draw passages, always the same as long as the collection does not change."""
        with self._in_collection(self._collection) as (session, number):
            values = {"collection": number, "limit": count}
            return [_passage(*row) for row in session.execute(_SAMPLE, values)]


def _passage(
    chunk: int, text: str, lead: str, title: str, headings: Sequence[str], tokens: int
) -> Passage:
    return Passage(chunk, indexed_text(text, lead), tokens, title, tuple(headings))


def count_missing(session: Session, collection: int, space_id: int) -> int:
    """Count a collection's passages without a vector in a space."""
    return int(session.value(_with_missing(_COUNT, space_id), {"collection": collection}))


def vector_table(space_id: int) -> sql.Identifier:
    """Name the table of a space's vectors in a statement."""
    return sql.Identifier(vectors.table_name(space_id))


def _with_missing(query: LiteralString, space_id: int) -> sql.Composed:
    missing = sql.SQL(_HAS_NONE).format(table=vector_table(space_id))
    return sql.SQL(query).format(missing=missing)
