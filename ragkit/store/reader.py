"""One consistent view of the store in PostgreSQL: the `Reader` contract, a transaction long.

Composes vectors, postings and documents; it writes nothing and ranks nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from psycopg import Cursor

from ragkit.contracts import Postings
from ragkit.errors import UsageError
from ragkit.store import documents, postings
from ragkit.store import vectors as spaces
from ragkit.store.where import allowed, matching
from ragkit.types import EmbeddingSpace, Hit

if TYPE_CHECKING:
    from ragkit.contracts import Vectors
    from ragkit.filters import Filter


class PostgresReader:
    """One repeatable-read view of the store."""

    def __init__(self, cursor: Cursor[Any], tenant: str) -> None:
        self._cursor = cursor
        self._tenant = tenant

    def nearest(
        self,
        collection: str,
        space: EmbeddingSpace,
        vector: Vectors,
        k: int,
        where: Filter | None = None,
    ) -> Sequence[tuple[int, float]]:
        owner = self._collection(collection)
        if where is None:
            found = spaces.nearest(self._cursor, space, self._tenant, owner, vector, k)
        else:
            within = matching(self._cursor, self._tenant, owner, where)
            cosines = self.similarities(space, vector, within)
            found = sorted(cosines.items(), key=lambda pair: (-pair[1], pair[0]))[:k]
        if not found:
            self._refuse_other_space(collection, owner, space)
        return found

    def similarities(
        self, space: EmbeddingSpace, vector: Vectors, chunks: Sequence[int]
    ) -> Mapping[int, float]:
        return spaces.similarities(self._cursor, space, self._tenant, vector, chunks)

    def matching(self, collection: str, where: Filter) -> Sequence[int]:
        return matching(self._cursor, self._tenant, self._collection(collection), where)

    def allowed(self, collection: str, chunks: Sequence[int], where: Filter) -> Sequence[int]:
        owner = self._collection(collection)
        return allowed(self._cursor, self._tenant, owner, chunks, where)

    def vectors(self, space: EmbeddingSpace, chunks: Sequence[int]) -> Mapping[int, Vectors]:
        return spaces.vectors(self._cursor, space, self._tenant, chunks)

    def postings(self, collection: str, terms: Sequence[str]) -> Postings:
        return postings.read(self._cursor, self._tenant, self._collection(collection), terms)

    def hits(self, chunks: Sequence[int]) -> Sequence[Hit]:
        return documents.hits(self._cursor, self._tenant, chunks)

    def _collection(self, name: str) -> int:
        return documents.collection_id(self._cursor, self._tenant, name)

    def _refuse_other_space(self, name: str, collection: int, space: EmbeddingSpace) -> None:
        """Say so when the collection has vectors, but none that this model can be compared with."""
        own = spaces.find_space(self._cursor, space)
        if own is not None and spaces.count(self._cursor, own, self._tenant, collection):
            return  # it has: a filter left none of them
        rows = self._cursor.execute("SELECT id, model FROM embedding_space").fetchall()
        models = {
            str(model)
            for space_id, model in rows
            if spaces.count(self._cursor, space_id, self._tenant, collection)
        }
        if models:
            raise UsageError(
                f"Collection {name!r} was embedded with {' and '.join(sorted(models))}, not with"
                f" {space.model} (revision {space.revision}): set RAGKIT_EMBED_MODEL, or ingest"
                " again."
            )
