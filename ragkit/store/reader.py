"""One consistent view of the store in PostgreSQL: the `Reader` contract, a session long."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ragkit.store import vectors as spaces
from ragkit.store.documents import documents, metadata, neighbours
from ragkit.store.documents import visible as access
from ragkit.store.documents.chunks import hits
from ragkit.store.documents.fields import fields
from ragkit.store.documents.filter_sql import Restriction, allowed, matching, restriction
from ragkit.store.vectors.active_space import require
from ragkit.store.vectors.trial import Trial, sample, trial
from ragkit.store.words import postings
from ragkit.text.analysers import name_from
from ragkit.text.postings import Postings
from ragkit.types import Chunk, EmbeddingSpace, Fields, Hit, Span

if TYPE_CHECKING:
    from ragkit.contracts import Vectors
    from ragkit.filters.tree import Filter
    from ragkit.store.session import Session


class PostgresReader:
    """One repeatable-read view of the store, for the readers of its session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._rows: dict[str, tuple[int, Mapping[str, Any]]] = {}
        self._limited: dict[int, bool] = {}
        self._tables: dict[EmbeddingSpace, spaces.Table] = {}
        self._restrictions: dict[tuple[int, Filter | None], Restriction | None] = {}

    def moment(self, collection: str) -> object:
        return postings.moment(self._session, self._collection(collection))

    def nearest(
        self,
        collection: str,
        space: EmbeddingSpace,
        vector: Vectors,
        k: int,
        where: Filter | None = None,
    ) -> Sequence[tuple[int, float]]:
        searched = spaces.look_up(self._session, space, collection)
        if searched is None:
            raise documents.no_collection(self._session, collection)
        number, place = searched.id, searched.place
        self._rows[collection] = number, searched.settings
        self._limited[number] = searched.limited
        if place is None or not place.active:
            require(self._session, number, space)
        among = self._restriction(number, where)
        if place is None:
            return []
        self._tables[space] = place.table
        return spaces.nearest_in(self._session, place, number, vector, k, among)

    def similarities(
        self, space: EmbeddingSpace, vector: Vectors, chunks: Sequence[int]
    ) -> Mapping[int, float]:
        table = self._tables.get(space) or spaces.find_table(self._session.cursor, space)
        if table is None:
            return {}
        visible = access.visible_chunks(self._session, chunks)
        return spaces.similarities(self._session, table, space.model, vector, visible)

    def matching(self, collection: str, where: Filter) -> Sequence[int]:
        number = self._collection(collection)
        among = self._restriction(number, where)
        assert among is not None, "there is a filter"
        return matching(self._session, number, among)

    def allowed(self, collection: str, chunks: Sequence[int], where: Filter) -> Sequence[int]:
        number = self._collection(collection)
        among = self._restriction(number, where)
        assert among is not None, "there is a filter"
        return allowed(self._session, number, chunks, among)

    def vectors(self, space: EmbeddingSpace, chunks: Sequence[int]) -> Mapping[int, Vectors]:
        return spaces.vectors(self._session, space, access.visible_chunks(self._session, chunks))

    def analyser(self, collection: str) -> str:
        return name_from(self._row(collection)[1])

    def beginning_or_ending(self, collection: str, character: str) -> Sequence[str]:
        return postings.with_character(self._session, self._collection(collection), character)

    def sample(
        self, collection: str, space: EmbeddingSpace, n: int, where: Filter | None = None
    ) -> Vectors:
        """Draw n of a collection's vectors: shape (n or fewer, dimension)."""
        number = self._collection(collection)
        among = self._restriction(number, where)
        table = spaces.find_table(self._session.cursor, space)
        assert table is not None, "a collection's own space"
        return sample(self._session, table, number, n, among)

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
        number = self._collection(collection)
        among = self._restriction(number, where)
        place = spaces.locate(self._session, space, number)
        assert place is not None, "a collection's own space"
        return trial(self._session, place, number, queries, k, among, on_progress=on_progress)

    def postings(self, collection: str, terms: Sequence[str]) -> Postings:
        return postings.read(self._session, self._collection(collection), terms)

    def hits(self, chunks: Sequence[int]) -> Sequence[Hit]:
        return hits(self._session, chunks)

    def around(self, chunks: Sequence[int], reach: int) -> Mapping[int, Sequence[Chunk]]:
        return neighbours.around(self._session, chunks, reach)

    def excerpts(self, places: Sequence[tuple[int, Span]]) -> Sequence[str]:
        return neighbours.excerpts(self._session, places)

    def fields(self, collection: str) -> Fields:
        number = self._collection(collection)
        return fields(self._session, number, self._restriction(number, None))

    def _collection(self, name: str) -> int:
        return self._row(name)[0]

    def _row(self, name: str) -> tuple[int, Mapping[str, Any]]:
        if name not in self._rows:
            self._rows[name] = documents.collection_row(self._session, name)
        return self._rows[name]

    def _is_limited(self, collection: int) -> bool:
        """Tell whether documents of the collection may be hidden from the session."""
        if self._session.readers is None:
            return False
        if collection not in self._limited:
            self._limited[collection] = access.is_limited(self._session, collection)
        return self._limited[collection]

    def _restriction(self, collection: int, where: Filter | None) -> Restriction | None:
        """Write what may be found. Raises QueryError for a filter on a field of no document."""
        key = (collection, where)
        if key not in self._restrictions:
            limited = self._is_limited(collection)
            declared: Mapping[str, str] = {}
            if where is not None:
                declared = metadata.check(self._session, collection, where, limited=limited)
            self._restrictions[key] = restriction(where, limited=limited, declared=declared)
        return self._restrictions[key]
