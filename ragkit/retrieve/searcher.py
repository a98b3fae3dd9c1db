"""A search by the model that a collection has, made anew when it has another one meanwhile.

It knows nothing of how a search is composed, or of what is done with the hits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from ragkit.errors import NotFoundError, OtherModelError

if TYPE_CHECKING:
    from ragkit.contracts import Store
    from ragkit.retrieve.pipeline import Pipeline
    from ragkit.types import EmbeddingSpace, Found

MOVES: Final = 20  # of a collection to other models, during one search: arbitrary, few are meant


def found_now(
    retriever: Callable[[bool], Pipeline],
    query: str,
    *,
    k: int,
    had: Callable[[EmbeddingSpace], bool],
) -> Found:
    """Find the k best by `retriever(False)`, which has the collection's model as last seen.

    When it has another one by now, they are found by `retriever(True)`, which has that one. Raises
    what a search raises, and so OtherModelError for a model of a space that it never `had`.
    """
    for attempt in range(MOVES):
        pipeline = retriever(attempt > 0)  # what it raises is no move, and is not tried again
        try:
            return pipeline.find(query, k=k)
        except OtherModelError:
            # Which space it has now would not do: it may have been moved to and fro.
            if not had(pipeline.retriever.embedder.space):
                raise
    return retriever(True).find(query, k=k)


def refuse_empty(store: Store, collection: str) -> None:
    """Raise NotFoundError when nothing can be found: that is no answer to a query."""
    own = (one for one in store.collections() if one.name == collection)
    if not any(found.documents for found in own):
        raise NotFoundError(
            f"Collection {collection!r} has no documents: take some in with `ragkit ingest"
            f" PATH --collection {collection}`, or name another one."
        )
