"""The vectors of a candidate, built beside those that a collection is searched with.

The same vectors are what adoption switches to: nothing is embedded twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragkit.errors import UsageError

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit.store.open import Database
    from ragkit.store.postgres import PostgresStore
    from ragkit.store.vectors.active_space import KeptSpace
    from ragkit.upkeep.reembed import Built


def active_space(store: PostgresStore, collection: str) -> KeptSpace:
    """Return the space that a collection is searched in. Raises UsageError for an empty one."""
    active = store.spaces.active(collection)
    if active is None:
        raise UsageError(
            f"collection {collection!r} has no passages: ingest documents, or name another with"
            " --collection"
        )
    return active


def name_space(space: KeptSpace) -> str:
    """Name a space by its model and revision."""
    return f"{space.space.model} ({space.space.revision})"


def contents_of(store: PostgresStore, collection: str) -> dict[str, Any]:
    """Return the number of a collection's documents, and a hash of their contents."""
    contents = sorted(content for content, _ in store.known(collection).values())
    digest = hashlib.sha256("\n".join(contents).encode()).hexdigest()
    return {"documents": len(contents), "contents": digest}


def build_space(
    database: Database,
    settings: Settings,
    collection: str,
    model: Path,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[Built, bool]:
    """Give every passage of a collection a vector of a model; tell whether the space is new.

    Raises UsageError where the collection is searched with the model already, and what building
    raises.
    """
    from ragkit.knowledge.embedders import Embedders, source_of
    from ragkit.settings.ingest_options import options_of
    from ragkit.upkeep.reembed import build

    store = database.store(settings.tenant)
    active = active_space(store, collection)
    embedder = Embedders(settings).made(str(model), None)
    embedder.load()
    if embedder.space == active.space:
        raise UsageError(
            f"collection {collection!r} is searched with {model} already: undo its adoption first"
            " (`ragkit tune adopt RUN --undo`), or name another collection"
        )
    spaces = [space for space in store.spaces.of(collection) if space.state != "dropped"]
    is_new = all(space.space != embedder.space for space in spaces)
    built = build(
        store,
        collection,
        embedder,
        source=source_of(str(model)),
        first=None,
        options=options_of(settings, store.ingest_options(collection)),
        on_progress=lambda state: progress(state.done, state.total),
    )
    return built, is_new


def drop_space(database: Database, settings: Settings, collection: str, space: KeptSpace) -> None:
    """Delete the vectors of a candidate that is not to be used."""
    from ragkit.upkeep.reembed import drop

    drop(database.store(settings.tenant), collection, space)
