"""What a collection's files are made into documents with: the model that it was embedded with.

A collection without passages takes the settings' model. It knows nothing of files or of jobs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragkit.embedders import source_of
from ragkit.errors import NotFoundError
from ragkit.ingest_options import options_of
from ragkit_ingest.fingerprint import fingerprint
from ragkit_ingest.steps import Steps

if TYPE_CHECKING:
    from ragkit.embedders import Embedders
    from ragkit.ingest_options import IngestOptions
    from ragkit.settings import Settings
    from ragkit.store.postgres import PostgresStore


def steps_of(embedders: Embedders, store: PostgresStore, collection: str, *, strict: bool) -> Steps:
    """Return the steps for a collection.

    A document that was made with an earlier model of the collection's stays as it is: its vectors
    were made anew when the collection was moved. Raises OtherModelError when the collection's model
    is not what it was, or, if `strict`, when the settings name another one on purpose.
    """
    settings = embedders.settings
    options = options_of(settings, store.ingest_options(collection))
    active = store.spaces.active(collection)
    embedder = (embedders.to_ingest if strict else embedders.of)(active, collection)
    analyser = store.analyser(collection)
    made = _made(settings, options, store, collection)
    now = made[active.id] if active else fingerprint(settings, options, analyser=analyser)
    # A collection from before sources were noted is noted now, if its model is the settings'.
    new = active is None or (not active.source and embedder is embedders.default)
    earlier = frozenset(made.values())
    return Steps(embedder, now, settings, options, analyser=analyser, earlier=earlier, new=new)


def fingerprints_of(embedders: Embedders, store: PostgresStore, collection: str) -> frozenset[str]:
    """Return the fingerprints of documents that need not be made anew."""
    options = options_of(embedders.settings, store.ingest_options(collection))
    return frozenset(_made(embedders.settings, options, store, collection).values())


def options_in(settings: Settings, store: PostgresStore, collection: str) -> IngestOptions:
    """Return a collection's options; where there is none, those that it would have."""
    try:
        return options_of(settings, store.ingest_options(collection))
    except NotFoundError:
        return options_of(settings, {})


def _made(
    settings: Settings, options: IngestOptions, store: PostgresStore, collection: str
) -> dict[int, str]:
    """Map each space that the collection has or had to the fingerprint of what is made for it."""
    analyser = store.analyser(collection)
    return {
        kept.id: fingerprint(settings, options, kept.space, kept.first, analyser=analyser)
        for kept in store.spaces.of(collection)
    }


def adopt(steps: Steps, settings: Settings, store: PostgresStore, collection: str) -> None:
    """Note with a collection what its model, the settings', is loaded by.

    A collection without passages takes it for its own. Raises OtherModelError.
    """
    source = source_of(settings.embed_model)
    space, first = steps.embedder.space, settings.embed_dimension
    store.spaces.adopt(collection, space, source=source, first=first)
