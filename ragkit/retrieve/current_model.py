"""Search a collection with its current embedding model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ragkit.errors import NotFoundError, OtherModelError

if TYPE_CHECKING:
    from ragkit.contracts import Store
    from ragkit.retrieve.pipeline import Pipeline
    from ragkit.types import EmbeddingSpace, SearchResult


def search_with_current_model(
    retriever: Callable[[bool], Pipeline],
    query: str,
    *,
    k: int,
    had_space: Callable[[EmbeddingSpace], bool],
) -> SearchResult:
    """Find the k best with the model that was last seen, or with the current one if it changed.

    `retriever(False)` has the collection's model as last seen by this process, `retriever(True)`
    the one of now. Raises what a search raises, and so OtherModelError for a model of a space that
    the collection never had, or when the collection changes its model once more in the meantime.
    """
    pipeline = retriever(False)
    try:
        return pipeline.find(query, k=k)
    except OtherModelError:
        # A switch may have come between this process's last look and the search's snapshot. The
        # past spaces count, not the current one: the collection may have been switched back.
        if not had_space(pipeline.retriever.embedder.space):
            raise
    return retriever(True).find(query, k=k)


def refuse_empty_collection(store: Store, collection: str) -> None:
    """Raise NotFoundError when a collection has no documents, as no query can find any."""
    if not any(row.documents for row in store.collections() if row.name == collection):
        raise NotFoundError(
            f"Collection {collection!r} has no documents: take some in with `ragkit ingest"
            f" PATH --collection {collection}`, or name another one."
        )
