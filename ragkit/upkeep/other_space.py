"""Search a collection with a second model, of whose vectors `ragkit index reembed` made a set.

Everything else is as it is: the same chunks, words, settings and steps of a search.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from ragkit.errors import NotFoundError, UsageError
from ragkit.upkeep.reembed import named

if TYPE_CHECKING:
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.settings.settings import Settings
    from ragkit.store.postgres import PostgresStore
    from ragkit.store.vectors.active_space import KeptSpace


def open_with_model(
    settings: Settings, collection: str, model: str, *, dimension: int | None = None
) -> KnowledgeBase:
    """Open a knowledge base that searches a collection with a model that it is not switched to.

    `model` is a name or folder. Raises NotFoundError where the collection has no vectors of it,
    UsageError where they are of several dimensions or some passages have none, and what opening
    a database and finding a model raise.
    """
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.knowledge.embedders import Embedders
    from ragkit.store.open import open_database

    embedders = Embedders(settings)
    database = open_database(settings)
    with ExitStack() as unless_composed:
        unless_composed.callback(database.close)
        kept = _find_space(database.store(settings.tenant), collection, model, dimension)
        kb = KnowledgeBase.over(
            database,
            settings,
            collection=collection,
            embedder=embedders.made_for(kept, collection),
            embedders=embedders,
            space=kept.space,
            owns=True,
        )
        unless_composed.pop_all()
    return kb


def _find_space(
    store: PostgresStore, collection: str, model: str, dimension: int | None
) -> KeptSpace:
    spaces = named(store, collection, model, dimension)
    if not spaces:
        raise NotFoundError(
            f"collection {collection!r} has no vectors of {model}: build them with"
            f" `ragkit index reembed --to {model} -c {collection}`"
        )
    if len(spaces) > 1:
        states = ", ".join(f"{kept.space.revision} {kept.space.dimension}" for kept in spaces)
        raise UsageError(
            f"collection {collection!r} has vectors of several states of {model} ({states}): drop"
            " those that are not meant with `ragkit index reembed --drop`"
        )
    (kept,) = spaces
    missing = store.spaces.gaps(collection, kept.id).missing()
    if missing:
        raise UsageError(
            f"{missing} passages of collection {collection!r} have no vector of {model}: build"
            f" them with `ragkit index reembed --to {model} -c {collection}`"
        )
    return kept
