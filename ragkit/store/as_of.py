"""The store as it was at a moment: a reader of what was current then, old versions included.

Everything is compared and counted exactly, over the collection and the old versions beside it, so a
search costs in proportion to both. It knows nothing of how versions come to be kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from psycopg.sql import SQL

from ragkit.errors import NotFoundError, UsageError
from ragkit.postings import Postings, Term
from ragkit.store import metadata, postings, versions
from ragkit.store import vectors as spaces
from ragkit.store.access import Hidden
from ragkit.store.binding import require
from ragkit.store.reader import PostgresReader
from ragkit.store.vectors.packed import packed_query, register
from ragkit.store.vectors.rows import QUERY
from ragkit.store.where import Readers, Restriction, restriction

if TYPE_CHECKING:
    from psycopg import Cursor
    from psycopg.sql import Composable

    from ragkit.contracts import Vectors
    from ragkit.filters import Filter
    from ragkit.types import EmbeddingSpace

_VALID: Final = SQL(
    "(d.updated_at <= %(as_of)s AND (d.valid_to IS NULL OR %(as_of)s < d.valid_to) AND {})"
)
_DOCUMENTS: Final = SQL("""
    SELECT d.id FROM document d
    WHERE d.tenant = %(tenant)s AND d.collection_id = ANY(%(owners)s) AND {}
""")
_NEAREST: Final = SQL("""
    SELECT chunk_id, {similarity} FROM (
        SELECT chunk_id, {distance} AS distance FROM {table}
        WHERE tenant = %(tenant)s AND collection_id = ANY(%(owners)s)
            AND document_id IN ({documents}) OFFSET 0
    ) AS v ORDER BY distance, chunk_id LIMIT %(k)s
""")
_MISSING: Final = SQL("""
    SELECT count(*) FROM chunk c WHERE c.tenant = %(tenant)s
        AND c.collection_id = ANY(%(owners)s) AND c.document_id IN ({documents})
        AND NOT EXISTS (SELECT FROM {table} v WHERE v.tenant = c.tenant AND v.chunk_id = c.id)
""")
_MATCHING: Final = SQL("""
    SELECT c.id FROM chunk c WHERE c.tenant = %(tenant)s
        AND c.collection_id = ANY(%(owners)s) AND c.document_id IN ({})
        AND (%(chunks)s::bigint[] IS NULL OR c.id = ANY(%(chunks)s)) ORDER BY c.id
""")
_VERSION: Final = SQL("""
    SELECT d.id FROM document d WHERE d.tenant = %(tenant)s
        AND d.collection_id = ANY(%(owners)s)
        AND (d.id = %(document)s OR d.version_of = %(document)s) AND {}
""")
_HIDDEN: Final = SQL("""
    SELECT string_agg(int8send(k.id), ''::bytea ORDER BY k.id), coalesce(sum(k.terms), 0)::bigint
    FROM document d JOIN chunk k ON k.tenant = d.tenant AND k.document_id = d.id
    WHERE d.tenant = %(tenant)s AND d.collection_id = %(owner)s AND NOT {}
""")


class AsOfReader(PostgresReader):
    """One view of the store at which a search finds what it would have found at `as_of`.

    NotFoundError where a collection had no documents yet that who looks may read.
    """

    def __init__(self, cursor: Cursor[Any], tenant: str, readers: Readers, as_of: datetime) -> None:
        super().__init__(cursor, tenant, readers)
        self._as_of = as_of
        self._both: dict[int, list[int]] = {}

    def moment(self, collection: str) -> str:
        owners = self._owners(collection)
        return " ".join(postings.moment(self._cursor, self._tenant, one) for one in owners)

    def nearest(
        self,
        collection: str,
        space: EmbeddingSpace,
        vector: Vectors,
        k: int,
        where: Filter | None = None,
    ) -> Sequence[tuple[int, float]]:
        owners = self._owners(collection)
        require(self._cursor, self._tenant, owners[0], space)
        table = spaces.find_table(self._cursor, space)
        if table is None:
            return []
        self._check_vectors(collection, table)
        among = self._restriction(owners[0], where)
        register(self._cursor)
        statement = _NEAREST.format(
            similarity=table.similarity(SQL("distance")),
            distance=table.distance(QUERY),
            table=table.identifier,
            documents=_DOCUMENTS.format(among.condition),
        )
        query = {"vector": packed_query(table, space.model, vector), "k": k}
        rows = self._cursor.execute(statement, {**self._values(owners, among), **query})
        return [(int(chunk), float(score)) for chunk, score in rows.fetchall()]

    def matching(self, collection: str, where: Filter) -> Sequence[int]:
        return self._matching(collection, where, None)

    def allowed(self, collection: str, chunks: Sequence[int], where: Filter) -> Sequence[int]:
        left = set(self._matching(collection, where, list(chunks)))
        return [chunk for chunk in chunks if chunk in left]

    def beginning_or_ending(self, collection: str, character: str) -> Sequence[str]:
        found = [
            postings.with_character(self._cursor, self._tenant, one, character)
            for one in self._owners(collection)
        ]
        return sorted({term for terms in found for term in terms})

    def postings(self, collection: str, terms: Sequence[str]) -> Postings:
        owners = self._owners(collection)
        among = self._restriction(owners[0], None)
        return _joined(
            [
                postings.read(self._cursor, self._tenant, one, terms, self._hidden(one, among))
                for one in owners
            ]
        )

    def version(self, collection: str, document: int) -> int | None:
        """Return the number of a document's version of the moment; None where there is none."""
        owners = self._owners(collection)
        among = self._restriction(owners[0], None)
        values = {**self._values(owners, among), "document": document}
        row = self._cursor.execute(_VERSION.format(among.condition), values).fetchone()
        return None if row is None else int(row[0])

    def _hidden(self, owner: int, among: Restriction) -> Hidden:
        """Find a collection's chunks that were not there then, or not for who looks."""
        import numpy as np

        values = {"tenant": self._tenant, "owner": owner, **among.values}
        statement = _HIDDEN.format(among.condition)
        row = self._cursor.execute(statement, values, binary=True).fetchone()
        assert row is not None, "a sum is one row"
        return Hidden(np.frombuffer(row[0] or b"", ">i8").astype(np.int64), int(row[1]))

    def _matching(self, collection: str, where: Filter, chunks: Sequence[int] | None) -> list[int]:
        owners = self._owners(collection)
        among = self._restriction(owners[0], where)
        statement = _MATCHING.format(_DOCUMENTS.format(among.condition))
        values = {**self._values(owners, among), "chunks": chunks}
        return [int(row[0]) for row in self._cursor.execute(statement, values)]

    def _check_vectors(self, collection: str, table: spaces.Table) -> None:
        """Raise UsageError where passages of then have no vector in the space of now."""
        owners = self._owners(collection)
        among = self._restriction(owners[0], None)
        statement = _MISSING.format(
            documents=_DOCUMENTS.format(among.condition), table=table.identifier
        )
        row = self._cursor.execute(statement, self._values(owners, among)).fetchone()
        if row is not None and row[0]:
            raise UsageError(
                f"{row[0]:,} passages of that time have no vectors of the model that collection"
                f" {collection!r} has now: search them by words, with `--mode lexical`."
            )

    def _owners(self, collection: str) -> list[int]:
        """Return the collection's number, and that of its old versions where there are some."""
        owner = self._collection(collection)
        if owner not in self._both:
            old = versions.beside(self._cursor, self._tenant, owner)
            self._both[owner] = [owner] if old is None else [owner, old]
            among = self._restriction(owner, None)
            statement = SQL("SELECT EXISTS ({})").format(_DOCUMENTS.format(among.condition))
            values = self._values(self._both[owner], among)
            if self._cursor.execute(statement, values).fetchone() == (False,):
                raise NotFoundError(
                    f"Collection {collection!r} has nothing from {self._as_of.isoformat()}: it had"
                    " no documents yet, or what it had was deleted since or not kept."
                )
        return self._both[owner]

    def _restriction(self, collection: int, where: Filter | None) -> Restriction:
        """Write what may be found, of the moment. An index on metadata has no old versions."""
        key = (collection, where)
        found = self._restrictions.get(key)
        if found is None:
            if where is not None:
                readers = self._limit(collection)
                metadata.check(self._cursor, self._tenant, collection, where, readers)
            given = restriction(where, self._readers)
            condition: Composable = SQL("true") if given is None else given.condition
            values: Mapping[str, Any] = {} if given is None else given.values
            found = Restriction(_VALID.format(condition), {**values, "as_of": self._as_of})
            self._restrictions[key] = found
        return found

    def _values(self, owners: Sequence[int], among: Restriction) -> dict[str, Any]:
        return {"tenant": self._tenant, "owners": list(owners), **among.values}


def _joined(parts: Sequence[Postings]) -> Postings:
    """Make one word index of several that have no chunk in common."""
    terms: dict[str, Term] = {}
    for term in dict.fromkeys(term for part in parts for term in part.terms):
        of = [part.terms.get(term) for part in parts]
        lists = [
            one.postings if one is not None else [None] * len(part.segments)
            for one, part in zip(of, parts, strict=True)
        ]
        containing = sum(one.containing for one in of if one is not None)
        terms[term] = Term(containing, [posting for one in lists for posting in one])
    return Postings(
        chunks=sum(part.chunks for part in parts),
        total_length=sum(part.total_length for part in parts),
        segments=[segment for part in parts for segment in part.segments],
        terms=terms,
    )
