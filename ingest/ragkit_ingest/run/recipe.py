"""What a collection's files are made into documents with: the model that it was embedded with.

A collection without passages takes the settings' model. It knows nothing of files or of jobs.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ragkit.errors import NotFoundError
from ragkit.knowledge.embedders import embed_model, source_of
from ragkit.settings.ingest_options import options_of
from ragkit.text.analysers import earlier, newest
from ragkit_ingest.run.fingerprint import fingerprint
from ragkit_ingest.run.steps import Steps

if TYPE_CHECKING:
    from ragkit.knowledge.embedders import Embedders
    from ragkit.settings.ingest_options import IngestOptions
    from ragkit.settings.settings import Settings
    from ragkit.store.postgres import PostgresStore


log = logging.getLogger(__name__)


def steps_of(embedders: Embedders, store: PostgresStore, collection: str, *, strict: bool) -> Steps:
    """Return the steps for a collection.

    A document that was made with an earlier model of the collection's stays as it is: its vectors
    were made anew when the collection was moved. So does one from before the collection's words
    were indexed anew, which is done here where its analyser has a successor. Raises
    OtherModelError when the collection's model is not what it was, or, if `strict`, when the
    settings name another one on purpose.
    """
    settings = embedders.settings
    options = options_of(settings, store.ingest_options(collection))
    active = store.spaces.active(collection)
    embedder = (embedders.to_ingest if strict else embedders.of)(active, collection)
    if newest(analyser := store.analyser(collection)) != analyser:
        log.info("indexing the words of collection %r anew", collection)
        store.renew_words(collection)
        analyser = newest(analyser)
    made = _made(settings, options, store, collection, analyser)
    now = made[active.id] if active else fingerprint(settings, options, analyser=analyser)
    # A collection from before sources were noted is noted now, if its model is the settings'.
    is_new = active is None or (not active.source and embedder is embedders.default)
    unchanged = _unchanged(settings, options, store, collection, analyser)
    return Steps(
        embedder, now, settings, options, analyser=analyser, earlier=unchanged, is_new=is_new
    )


def fingerprints_of(embedders: Embedders, store: PostgresStore, collection: str) -> frozenset[str]:
    """Return the fingerprints of documents that need not be made anew."""
    options = options_of(embedders.settings, store.ingest_options(collection))
    analyser = store.analyser(collection)
    return _unchanged(embedders.settings, options, store, collection, analyser)


def options_in(settings: Settings, store: PostgresStore, collection: str) -> IngestOptions:
    """Return a collection's options; where there is none, those that it would have."""
    try:
        return options_of(settings, store.ingest_options(collection))
    except NotFoundError:
        return options_of(settings, {})


def _unchanged(
    settings: Settings,
    options: IngestOptions,
    store: PostgresStore,
    collection: str,
    analyser: str,
) -> frozenset[str]:
    """Return the fingerprints of what was made for a space, or an analyser, that it has or had."""
    names = earlier(analyser)
    made = [_made(settings, options, store, collection, name) for name in names]
    return frozenset(value for of_name in made for value in of_name.values())


def _made(
    settings: Settings,
    options: IngestOptions,
    store: PostgresStore,
    collection: str,
    analyser: str,
) -> dict[int, str]:
    """Map each space that the collection has or had to the fingerprint of what is made for it."""
    return {
        kept.id: fingerprint(settings, options, kept.space, kept.first, analyser=analyser)
        for kept in store.spaces.of(collection)
    }


def adopt(steps: Steps, settings: Settings, store: PostgresStore, collection: str) -> None:
    """Note with a collection what its model, the settings', is loaded by.

    A collection without passages takes it for its own. Raises OtherModelError.
    """
    source = source_of(embed_model(settings))
    space, first = steps.embedder.space, settings.embed_dimension
    store.spaces.adopt(collection, space, source=source, first=first)
