"""Compare the vectors that a server's model makes now with those that it once made of passages.

A space goes by the model's name at the server: that another model has the name by now only shows
in the vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ragkit.embed.headers import Headers
from ragkit.embed.passages import embed_texts
from ragkit.text.passage import indexed_text

if TYPE_CHECKING:
    from ragkit.contracts import Embedder, Store
    from ragkit.settings.ingest_options import IngestOptions

PASSAGES: Final = 4  # arbitrary: another model shows in one
# Arbitrary: half precision changes a vector by a cosine of .0001, another model leaves .9 at most.
SAME_COSINE: Final = 0.98
_ANYTHING: Final = "a"  # the passages next to it are as good as any


def least_cosine(
    store: Store, collection: str, embedder: Embedder, options: IngestOptions
) -> float | None:
    """Return the least cosine of a few passages' stored vectors with new ones; None without any.

    Raises ModelError, and OtherModelError for a collection that is searched in another space.
    """
    space, query = embedder.space, embedder.embed_query(_ANYTHING)
    with store.snapshot() as reader:
        chunks = [chunk for chunk, _ in reader.nearest(collection, space, query, PASSAGES)]
        stored = reader.vectors(space, chunks)
        hits = [hit for hit in reader.hits(chunks) if hit.chunk in stored]
    if not hits:
        return None
    headers = Headers(embedder) if options.chunk_header == "on" else None
    texts = [
        (headers.of(hit.title, hit.headings) if headers else "") + indexed_text(hit.text, hit.lead)
        for hit in hits
    ]
    long = "mean" if options.long_chunks == "refuse" else options.long_chunks
    vectors, _ = embed_texts(embedder, texts, long)
    return min(float(stored[hit.chunk] @ row) for hit, row in zip(hits, vectors, strict=True))
