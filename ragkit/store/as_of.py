"""The store as it was at a moment: a reader of the documents that were current then.

Old versions are included. Everything is compared and counted exactly, over the collection and the
old versions beside it, so a search costs in proportion to both. How versions are kept is in
`ragkit.store.documents.versions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from psycopg.sql import SQL

from ragkit.errors import NotFoundError, UsageError
from ragkit.store import vectors as spaces
from ragkit.store.documents import metadata, versions
from ragkit.store.documents.filter_sql import Restriction, restriction
from ragkit.store.documents.visible import Hidden
from ragkit.store.reader import PostgresReader
from ragkit.store.vectors.active_space import require
from ragkit.store.vectors.packed import packed_query, register
from ragkit.store.vectors.rows import QUERY
from ragkit.store.words import postings
from ragkit.store.words.segment_state import State, total_state
from ragkit.text.postings import Postings, Term

if TYPE_CHECKING:
    from psycopg.sql import Composable

    from ragkit.contracts import Vectors
    from ragkit.filters.tree import Filter
    from ragkit.store.session import Session
    from ragkit.types import EmbeddingSpace

_VALID: Final = SQL(
    "(d.updated_at <= %(as_of)s AND (d.valid_to IS NULL OR %(as_of)s < d.valid_to) AND {})"
)
_DOCUMENTS: Final = SQL("""
    SELECT d.id FROM visible_document d
    WHERE d.tenant = %(tenant)s AND d.collection_id = ANY(%(collections)s) AND {}
""")
_NEAREST: Final = SQL("""
    SELECT chunk_id, {similarity} FROM (
        SELECT chunk_id, {distance} AS distance FROM {table}
        WHERE tenant = %(tenant)s AND collection_id = ANY(%(collections)s)
            AND document_id IN ({documents}) OFFSET 0
    ) AS v ORDER BY distance, chunk_id LIMIT %(k)s
""")
_MISSING: Final = SQL("""
    SELECT count(*) FROM chunk c WHERE c.tenant = %(tenant)s
        AND c.collection_id = ANY(%(collections)s) AND c.document_id IN ({documents})
        AND NOT EXISTS (SELECT FROM {table} v WHERE v.tenant = c.tenant AND v.chunk_id = c.id)
""")
_MATCHING: Final = SQL("""
    SELECT c.id FROM chunk c WHERE c.tenant = %(tenant)s
        AND c.collection_id = ANY(%(collections)s) AND c.document_id IN ({})
        AND (%(chunks)s::bigint[] IS NULL OR c.id = ANY(%(chunks)s)) ORDER BY c.id
""")
_VERSION: Final = SQL("""
    SELECT d.id FROM visible_document d WHERE d.tenant = %(tenant)s
        AND d.collection_id = ANY(%(collections)s)
        AND (d.id = %(document)s OR d.version_of = %(document)s) AND {}
""")
_HIDDEN: Final = SQL("""
    SELECT string_agg(int8send(k.id), ''::bytea ORDER BY k.id), coalesce(sum(k.terms), 0)::bigint
    FROM chunk k WHERE k.tenant = %(tenant)s AND k.collection_id = %(collection)s
        AND NOT EXISTS (SELECT FROM visible_document d
            WHERE d.tenant = k.tenant AND d.id = k.document_id AND {})
""")


class AsOfReader(PostgresReader):
    """One view of the store at which a search finds what it would have found at `as_of`.

    NotFoundError where a collection had no documents yet that the session may read.
    """

    def __init__(self, session: Session, as_of: datetime) -> None:
        super().__init__(session)
        self._as_of = as_of
        self._with_versions: dict[int, list[int]] = {}

    def moment(self, collection: str) -> object:
        return [self._state(number).all_numbers for number in self._numbers(collection)]

    def nearest(
        self,
        collection: str,
        space: EmbeddingSpace,
        vector: Vectors,
        k: int,
        where: Filter | None = None,
    ) -> Sequence[tuple[int, float]]:
        numbers = self._numbers(collection)
        require(self.session, numbers[0], space)
        table = spaces.find_table(self.session.cursor, space)
        if table is None:
            return []
        self._check_vectors(collection, table)
        among = self._restriction(collection, where)
        register(self.session.cursor)
        statement = _NEAREST.format(
            similarity=table.similarity(SQL("distance")),
            distance=table.distance(QUERY),
            table=table.identifier,
            documents=_DOCUMENTS.format(among.condition),
        )
        query = {"vector": packed_query(table, space.model, vector), "k": k}
        rows = self.session.execute(statement, {**_values(numbers, among), **query})
        return [(int(chunk), float(score)) for chunk, score in rows.fetchall()]

    def matching(self, collection: str, where: Filter) -> Sequence[int]:
        return self._matching(collection, where, None)

    def allowed(self, collection: str, chunks: Sequence[int], where: Filter) -> Sequence[int]:
        matches = set(self._matching(collection, where, list(chunks)))
        return [chunk for chunk in chunks if chunk in matches]

    def beginning_or_ending(self, collection: str, character: str) -> Sequence[str]:
        lists = [
            postings.with_character(self.session, number, character)
            for number in self._numbers(collection)
        ]
        return sorted({term for terms in lists for term in terms})

    def postings(self, collection: str, terms: Sequence[str]) -> Postings:
        numbers = self._numbers(collection)
        among = self._restriction(collection, None)
        return _joined(
            [
                postings.read(self.session, number, terms, self._state_then(number, among))
                for number in numbers
            ]
        )

    def version(self, collection: str, document: int) -> int | None:
        """Return the number of a document's version of the moment; None where there is none."""
        numbers = self._numbers(collection)
        among = self._restriction(collection, None)
        values = {**_values(numbers, among), "document": document}
        row = self.session.row(_VERSION.format(among.condition), values)
        return None if row is None else int(row[0])

    def _state_then(self, number: int, among: Restriction) -> State:
        """Look up a word index without the chunks that were not current then or are hidden."""
        import numpy as np

        values = {"collection": number, **among.values}
        statement = _HIDDEN.format(among.condition)
        row = self.session.execute(statement, values, binary=True).fetchone()
        assert row is not None, "a sum is one row"
        hidden = Hidden(np.frombuffer(row[0] or b"", ">i8").astype(np.int64), int(row[1]))
        return total_state(self.session, number).without(hidden)

    def _matching(self, collection: str, where: Filter, chunks: Sequence[int] | None) -> list[int]:
        numbers = self._numbers(collection)
        among = self._restriction(collection, where)
        statement = _MATCHING.format(_DOCUMENTS.format(among.condition))
        values = {**_values(numbers, among), "chunks": chunks}
        return [int(row[0]) for row in self.session.execute(statement, values)]

    def _check_vectors(self, collection: str, table: spaces.Table) -> None:
        """Raise UsageError where passages of then have no vector in the present space."""
        numbers = self._numbers(collection)
        among = self._restriction(collection, None)
        statement = _MISSING.format(
            documents=_DOCUMENTS.format(among.condition), table=table.identifier
        )
        missing = self.session.value(statement, _values(numbers, among))
        if missing:
            raise UsageError(
                f"{missing:,} passages of that time have no vectors of the model that collection"
                f" {collection!r} has now: search them by words, with `--mode lexical`."
            )

    def _numbers(self, collection: str) -> list[int]:
        """Return the collection's number, and that of its old versions where there are some."""
        number = self._collection(collection)
        if number not in self._with_versions:
            beside = versions.collection_of_versions(self.session, number)
            numbers = [number] if beside is None else [number, beside]
            among = self._restriction(collection, None)
            statement = SQL("SELECT EXISTS ({})").format(_DOCUMENTS.format(among.condition))
            if not self.session.value(statement, _values(numbers, among)):
                raise NotFoundError(
                    f"Collection {collection!r} has nothing from {self._as_of.isoformat()}: it had"
                    " no documents yet, or what it had was deleted since or not kept."
                )
            self._with_versions[number] = numbers
        return self._with_versions[number]

    def _restriction(self, collection: str, where: Filter | None) -> Restriction:
        """Write what may be found, of the moment. An index on metadata has no old versions."""
        searched = self.look_up(collection)
        key = (searched.id, where)
        written = self._restrictions.get(key)
        if written is None:
            if where is not None:
                metadata.check(self.session, searched.id, where, limited=searched.limited)
            filtered = restriction(where)
            condition: Composable = SQL("true") if filtered is None else filtered.condition
            values: Mapping[str, Any] = {} if filtered is None else filtered.values
            written = Restriction(_VALID.format(condition), {**values, "as_of": self._as_of})
            self._restrictions[key] = written
        return written


def _values(numbers: Sequence[int], among: Restriction) -> dict[str, Any]:
    return {"collections": list(numbers), **among.values}


def _joined(parts: Sequence[Postings]) -> Postings:
    """Make one word index of several that have no chunk in common."""
    terms: dict[str, Term] = {}
    for name in dict.fromkeys(name for part in parts for name in part.terms):
        of_parts = [part.terms.get(name) for part in parts]
        lists = [
            term.postings if term is not None else [None] * len(part.segments)
            for term, part in zip(of_parts, parts, strict=True)
        ]
        containing = sum(term.containing for term in of_parts if term is not None)
        terms[name] = Term(containing, [posting for part in lists for posting in part])
    return Postings(
        chunks=sum(part.chunks for part in parts),
        total_length=sum(part.total_length for part in parts),
        segments=[segment for part in parts for segment in part.segments],
        terms=terms,
    )
