"""Compare the vectors that a server's model makes now with those that it once made of passages.

A space goes by the model's name at the server: that another model has the name by now only shows
in the vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ragkit.embed.find import SERVED
from ragkit.embed.headers import Headers
from ragkit.embed.passages import embed_texts
from ragkit.errors import OtherModelError
from ragkit.text.passage import indexed_text

if TYPE_CHECKING:
    from ragkit.contracts import Embedder, Store
    from ragkit.settings.ingest_options import IngestOptions
    from ragkit.store.postgres import PostgresStore

PASSAGES: Final = 4  # arbitrary: another model shows in one
# Arbitrary: half precision changes a vector by a cosine of .0001, another model leaves .9 at most.
SAME_COSINE: Final = 0.98
# Arbitrary: the same model leaves more though a passage's header has changed, and the vectors of
# two models that were trained apart have nothing to do with each other.
OTHER_COSINE: Final = 0.5
_ANYTHING: Final = "a"  # the passages next to it are as good as any


def check_server(
    store: PostgresStore, collection: str, embedder: Embedder, options: IngestOptions
) -> None:
    """Raise OtherModelError where a server has another model under the name of a collection's.

    A model that resembles it, such as one tuned from it, is let through; `ragkit doctor` tells of
    it. No server is asked for a collection of a local model.
    """
    active = store.spaces.active(collection)
    if active is None or not active.source.startswith(SERVED):
        return
    embedder.load()
    now, stored = embedder.space.dimension, active.space.dimension
    if now != stored:
        difference = f"{now} dimensions where the collection has {stored}"
    else:
        cosines = compare_vectors(store, collection, embedder, options)
        if max(cosines, default=1.0) >= OTHER_COSINE:
            return
        difference = f"its vectors of the same passages have a cosine of {max(cosines):.2f}"
    raise OtherModelError(
        f"the embedding server has another model by now under the name {active.space.model}"
        f" ({difference}), and collection {collection!r} is embedded with the one from before:"
        " serve that one, or give the new one another name and move the collection with"
        f" `ragkit index reembed --to {SERVED}NAME`"
    )


def least_cosine(
    store: Store, collection: str, embedder: Embedder, options: IngestOptions
) -> float | None:
    """Return the least of `compare_vectors`; None without any."""
    return min(compare_vectors(store, collection, embedder, options), default=None)


def compare_vectors(
    store: Store, collection: str, embedder: Embedder, options: IngestOptions
) -> list[float]:
    """Return the cosines of a few passages' stored vectors with new ones.

    Raises ModelError, and OtherModelError for a collection that is searched in another space.
    """
    space, query = embedder.space, embedder.embed_query(_ANYTHING)
    with store.snapshot() as reader:
        chunks = [chunk for chunk, _ in reader.nearest(collection, space, query, PASSAGES)]
        stored = reader.vectors(space, chunks)
        hits = [hit for hit in reader.hits(chunks) if hit.chunk in stored]
    if not hits:
        return []
    headers = Headers(embedder) if options.chunk_header == "on" else None
    texts = [
        (headers.of(hit.title, hit.headings) if headers else "") + indexed_text(hit.text, hit.lead)
        for hit in hits
    ]
    long = "mean" if options.long_chunks == "refuse" else options.long_chunks
    vectors, _ = embed_texts(embedder, texts, long)
    return [float(stored[hit.chunk] @ row) for hit, row in zip(hits, vectors, strict=True)]
