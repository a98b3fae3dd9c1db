"""One consistent view of the store in PostgreSQL: the `Reader` contract, a transaction long.

Composes vectors, postings and documents; it writes nothing and ranks nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from psycopg import Cursor

from ragkit.postings import Postings
from ragkit.store import access, documents, metadata, neighbours, postings
from ragkit.store import vectors as spaces
from ragkit.store.binding import require
from ragkit.store.chunks import hits
from ragkit.store.fields import fields
from ragkit.store.vectors.trial import Trial, sample, trial
from ragkit.store.where import Readers, Restriction, allowed, matching, restriction
from ragkit.text.analysers import name_from
from ragkit.types import Chunk, EmbeddingSpace, Fields, Hit, Span

if TYPE_CHECKING:
    from ragkit.contracts import Vectors
    from ragkit.filters import Filter


class PostgresReader:
    """One repeatable-read view of the store.

    `readers` are the principals who look: what they may not read is not there. None: an operator.
    """

    def __init__(self, cursor: Cursor[Any], tenant: str, readers: Readers = None) -> None:
        self._cursor = cursor
        self._tenant = tenant
        self._readers = readers
        self._rows: dict[str, tuple[int, Mapping[str, Any]]] = {}
        self._limits: dict[int, Readers] = {}
        self._tables: dict[EmbeddingSpace, spaces.Table] = {}
        self._restrictions: dict[tuple[int, Filter | None], Restriction | None] = {}

    def moment(self, collection: str) -> object:
        return postings.moment(self._cursor, self._tenant, self._collection(collection))

    def nearest(
        self,
        collection: str,
        space: EmbeddingSpace,
        vector: Vectors,
        k: int,
        where: Filter | None = None,
    ) -> Sequence[tuple[int, float]]:
        known = spaces.look_up(self._cursor, space, self._tenant, collection, self._readers)
        if known is None:
            raise documents.no_collection(self._cursor, self._tenant, collection, self._readers)
        owner, place = known.id, known.place
        self._rows[collection] = owner, known.settings
        self._limits[owner] = self._readers if known.limited else None
        if place is None or not place.active:
            require(self._cursor, self._tenant, owner, space)
        among = self._restriction(owner, where)
        if place is None:
            return []
        self._tables[space] = place.table
        return spaces.nearest_in(self._cursor, place, self._tenant, owner, vector, k, among)

    def similarities(
        self, space: EmbeddingSpace, vector: Vectors, chunks: Sequence[int]
    ) -> Mapping[int, float]:
        table = self._tables.get(space) or spaces.find_table(self._cursor, space)
        if table is None:
            return {}
        seen = self._seen(chunks)
        return spaces.similarities(self._cursor, table, space.model, self._tenant, vector, seen)

    def matching(self, collection: str, where: Filter) -> Sequence[int]:
        owner = self._collection(collection)
        among = self._restriction(owner, where)
        assert among is not None, "there is a filter"
        return matching(self._cursor, self._tenant, owner, among)

    def allowed(self, collection: str, chunks: Sequence[int], where: Filter) -> Sequence[int]:
        owner = self._collection(collection)
        among = self._restriction(owner, where)
        assert among is not None, "there is a filter"
        return allowed(self._cursor, self._tenant, owner, chunks, among)

    def vectors(self, space: EmbeddingSpace, chunks: Sequence[int]) -> Mapping[int, Vectors]:
        return spaces.vectors(self._cursor, space, self._tenant, self._seen(chunks))

    def analyser(self, collection: str) -> str:
        return name_from(self._row(collection)[1])

    def beginning_or_ending(self, collection: str, character: str) -> Sequence[str]:
        owner = self._collection(collection)
        return postings.with_character(self._cursor, self._tenant, owner, character)

    def sample(
        self, collection: str, space: EmbeddingSpace, n: int, where: Filter | None = None
    ) -> Vectors:
        """Draw n of a collection's vectors: shape (n or fewer, dimension)."""
        owner = self._collection(collection)
        among = self._restriction(owner, where)
        table = spaces.find_table(self._cursor, space)
        assert table is not None, "a collection's own space"
        return sample(self._cursor, table, self._tenant, owner, n, among)

    def trial(
        self,
        collection: str,
        space: EmbeddingSpace,
        queries: Vectors,
        k: int,
        where: Filter | None,
        on_progress: Callable[[int, int], None],
    ) -> Trial:
        """Try a collection's index out against exact search."""
        owner = self._collection(collection)
        among = self._restriction(owner, where)
        place = spaces.locate(self._cursor, space, self._tenant, owner)
        assert place is not None, "a collection's own space"
        named = (self._cursor, place, self._tenant, owner)
        return trial(*named, queries, k, among, on_progress=on_progress)

    def postings(self, collection: str, terms: Sequence[str]) -> Postings:
        owner = self._collection(collection)
        return postings.read(self._cursor, self._tenant, owner, terms, readers=self._readers)

    def hits(self, chunks: Sequence[int]) -> Sequence[Hit]:
        return hits(self._cursor, self._tenant, self._seen(chunks))

    def around(self, chunks: Sequence[int], reach: int) -> Mapping[int, Sequence[Chunk]]:
        return neighbours.around(self._cursor, self._tenant, self._seen(chunks), reach)

    def excerpts(self, places: Sequence[tuple[int, Span]]) -> Sequence[str]:
        asked = [document for document, _ in places]
        seen = access.seen_documents(self._cursor, self._tenant, asked, self._readers)
        hidden = -1  # no document's number
        cut = [(document if document in seen else hidden, span) for document, span in places]
        return neighbours.excerpts(self._cursor, self._tenant, cut)

    def fields(self, collection: str) -> Fields:
        owner = self._collection(collection)
        among = self._restriction(owner, None)
        return fields(self._cursor, self._tenant, owner, among)

    def _collection(self, name: str) -> int:
        return self._row(name)[0]

    def _row(self, name: str) -> tuple[int, Mapping[str, Any]]:
        if name not in self._rows:
            self._rows[name] = documents.collection_row(
                self._cursor, self._tenant, name, readers=self._readers
            )
        return self._rows[name]

    def _limit(self, collection: int) -> Readers:
        """Return who looks, None where no document of the collection is limited to anybody."""
        if self._readers is None:
            return None
        if collection not in self._limits:
            some = access.limited(self._cursor, self._tenant, collection)
            self._limits[collection] = self._readers if some else None
        return self._limits[collection]

    def _restriction(self, collection: int, where: Filter | None) -> Restriction | None:
        """Write what may be found. Raises QueryError for a filter on what no document has."""
        key = (collection, where)
        if key not in self._restrictions:
            readers = self._limit(collection)
            declared: Mapping[str, str] = {}
            if where is not None:
                declared = metadata.check(self._cursor, self._tenant, collection, where, readers)
            self._restrictions[key] = restriction(where, readers, declared)
        return self._restrictions[key]

    def _seen(self, chunks: Sequence[int]) -> Sequence[int]:
        return access.seen_chunks(self._cursor, self._tenant, chunks, self._readers)
