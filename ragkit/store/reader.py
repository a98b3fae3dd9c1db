"""One consistent view of the store in PostgreSQL: the `Reader` contract, a session long."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from psycopg.sql import SQL

from ragkit.store import vectors as spaces
from ragkit.store.documents import documents, metadata, neighbours
from ragkit.store.documents import visible as access
from ragkit.store.documents.chunks import hits
from ragkit.store.documents.fields import fields
from ragkit.store.documents.filter_sql import Restriction, allowed, matching, restriction
from ragkit.store.vectors.active_space import require
from ragkit.store.vectors.search import similarities
from ragkit.store.vectors.trial import Trial, sample, trial
from ragkit.store.words import postings
from ragkit.store.words.segment_state import State, state
from ragkit.text.analysers import name_from
from ragkit.text.postings import Postings
from ragkit.types import Chunk, EmbeddingSpace, Fields, Hit, Span

if TYPE_CHECKING:
    from ragkit.contracts import Vectors
    from ragkit.filters.tree import Filter
    from ragkit.store.session import Session


class PostgresReader:
    """One repeatable-read view of the store, for the readers of its session.

    Searches may use a collection's active space and `space`, which need not be active.
    """

    def __init__(self, session: Session, space: EmbeddingSpace | None = None) -> None:
        self.session = session
        self._space = space
        self._searched: dict[str, spaces.SearchedCollection] = {}
        self._states: dict[int, State] = {}
        self._tables: dict[EmbeddingSpace, spaces.Table] = {}
        self._restrictions: dict[tuple[int, Filter | None], Restriction | None] = {}

    def moment(self, collection: str) -> object:
        return self._state(self._collection(collection)).all_numbers

    def nearest(
        self,
        collection: str,
        space: EmbeddingSpace,
        vector: Vectors,
        k: int,
        where: Filter | None = None,
    ) -> Sequence[tuple[int, float]]:
        searched = self.look_up(collection)
        among = self._restriction(collection, where)
        place = searched.place if searched.space == space else None
        if place is None and space == self._space:
            place = spaces.locate(self.session, space, searched.id)
        if place is None:
            require(self.session, searched.id, space)
            return []  # a collection without passages
        self._tables[space] = place.table
        return spaces.nearest_in(self.session, place, searched.id, vector, k, among)

    def similarities(
        self, space: EmbeddingSpace, vector: Vectors, chunks: Sequence[int]
    ) -> Mapping[int, float]:
        table = self._tables.get(space) or spaces.find_table(self.session.cursor, space)
        if table is None:
            return {}
        visible = access.visible_chunks(self.session, chunks)
        return similarities(self.session, table, space.model, vector, visible)

    def matching(self, collection: str, where: Filter) -> Sequence[int]:
        among = self._restriction(collection, where)
        assert among is not None, "there is a filter"
        return matching(self.session, self._collection(collection), among)

    def allowed(self, collection: str, chunks: Sequence[int], where: Filter) -> Sequence[int]:
        among = self._restriction(collection, where)
        assert among is not None, "there is a filter"
        return allowed(self.session, self._collection(collection), chunks, among)

    def vectors(self, space: EmbeddingSpace, chunks: Sequence[int]) -> Mapping[int, Vectors]:
        return spaces.vectors(self.session, space, access.visible_chunks(self.session, chunks))

    def analyser(self, collection: str) -> str:
        return name_from(self.look_up(collection).settings)

    def beginning_or_ending(self, collection: str, character: str) -> Sequence[str]:
        return postings.with_character(self.session, self._collection(collection), character)

    def sample(
        self, collection: str, space: EmbeddingSpace, n: int, where: Filter | None = None
    ) -> Vectors:
        """Draw n of a collection's vectors: shape (n or fewer, dimension)."""
        number = self._collection(collection)
        among = self._restriction(collection, where)
        table = spaces.find_table(self.session.cursor, space)
        assert table is not None, "a collection's own space"
        return sample(self.session, table, number, n, among)

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
        among = self._restriction(collection, where)
        place = spaces.locate(self.session, space, number)
        assert place is not None, "a collection's own space"
        return trial(self.session, place, number, queries, k, among, on_progress=on_progress)

    def postings(self, collection: str, terms: Sequence[str]) -> Postings:
        number = self._collection(collection)
        return postings.read(self.session, number, terms, self._state(number))

    def hits(self, chunks: Sequence[int]) -> Sequence[Hit]:
        return hits(self.session, chunks)

    def around(self, chunks: Sequence[int], reach: int) -> Mapping[int, Sequence[Chunk]]:
        return neighbours.around(self.session, chunks, reach)

    def excerpts(self, places: Sequence[tuple[int, Span]]) -> Sequence[str]:
        return neighbours.excerpts(self.session, places)

    def fields(self, collection: str) -> Fields:
        among = self._restriction(collection, None)
        return fields(self.session, self._collection(collection), among)

    def _collection(self, name: str) -> int:
        return self.look_up(name).id

    def look_up(self, name: str) -> spaces.SearchedCollection:
        """Look a collection up, at the first call for it. Raises NotFoundError."""
        if name not in self._searched:
            searched = spaces.look_up(self.session, name)
            if searched is None:
                raise documents.no_collection(self.session, name)
            self._searched[name] = searched
        return self._searched[name]

    def _state(self, collection: int) -> State:
        """Look a collection's word index up, once."""
        if collection not in self._states:
            self._states[collection] = state(self.session, collection)
        return self._states[collection]

    def _restriction(self, collection: str, where: Filter | None) -> Restriction | None:
        """Write what may be found. Raises QueryError for a filter on a field of no document."""
        searched = self.look_up(collection)
        key = (searched.id, where)
        if key not in self._restrictions:
            limited = searched.limited
            declared: Mapping[str, str] = {}
            if where is not None:
                declared = metadata.check(self.session, searched.id, where, limited=limited)
            keys = tuple(sorted(declared.items()))
            self._restrictions[key] = _restriction(where, repr(where), limited, keys)
        return self._restrictions[key]


@lru_cache(maxsize=256)
def _restriction(
    where: Filter | None, text: str, limited: bool, declared: tuple[tuple[str, str], ...]
) -> Restriction | None:
    """Write what may be found, once for each filter: that takes as long as a short statement.

    `text` tells filters apart that are equal and are not written alike, such as 1 and true.
    """
    written = restriction(where, limited=limited, declared=dict(declared))
    if written is None:
        return None
    return Restriction(SQL(written.condition.as_string(None)), written.values)
