"""A few documents for tests, and functions that make documents, hits and stores of texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ragkit.types import Chunk, Document, Hit, NewDocument

if TYPE_CHECKING:
    from ragkit.contracts import Embedder, Store


def new_document(uri: str, *paragraphs: str, title: str = "") -> NewDocument:
    """Make a document whose chunks are the given paragraphs, on pages 1, 2, ...

    >>> [(c.start, c.end) for c in new_document("a.txt", "One.", "Two.").chunks]
    [(0, 4), (6, 10)]
    """
    chunks: list[Chunk] = []
    start = 0
    for ordinal, paragraph in enumerate(paragraphs):
        end = start + len(paragraph)
        chunks.append(Chunk(ordinal, start, end, len(paragraph.split()), page=ordinal + 1))
        start = end + 2
    return NewDocument(
        uri=uri,
        content_hash=f"hash of {uri}",
        fingerprint="test",
        text="\n\n".join(paragraphs),
        chunks=tuple(chunks),
        title=title,
    )


CORPUS: Final = (
    new_document(
        "wings.md",
        "A delta wing 🛩 is triangular. It keeps its lift at a high angle of attack.",
        "The first flight of the Otter lasted 12 minutes and ended in a meadow.",
        title="Wings",
    ),
    new_document(
        "leave.md",
        "Every employee has 28 days of paid holiday. Unused days lapse at the end of March.",
        "Sick leave needs a doctor's note from the third day on.",
        title="Leave",
    ),
    new_document(
        "差旅.md",
        "差旅报销须在三十天内提交。超过五百元的费用需要经理批准。",
        "国内航班一律乘坐经济舱。火车可以乘坐一等座。",
        title="差旅规定",
    ),
)


def fill(
    store: Store, embedder: Embedder, documents: Sequence[NewDocument], collection: str = "default"
) -> list[Document]:
    """Put documents into a collection, which is made when it is missing; load the embedder."""
    embedder.load()
    store.create_collection(collection)
    stored: list[Document] = []
    for document in documents:
        vectors = embedder.embed_passages([document.text[c.start : c.end] for c in document.chunks])
        stored.append(store.put_document(collection, document, embedder.space, vectors))
    return stored


def passages(documents: Sequence[NewDocument] = CORPUS) -> list[Hit]:
    """Make a hit of every chunk, as a store would that numbers documents and chunks from 1."""
    places = [
        (n, source, chunk) for n, source in enumerate(documents, 1) for chunk in source.chunks
    ]
    return [
        Hit(
            document=document,
            chunk=number,
            uri=source.uri,
            title=source.title,
            page=chunk.page,
            start=chunk.start,
            end=chunk.end,
            text=source.text[chunk.start : chunk.end],
            score=0.0,
            headings=chunk.headings,
        )
        for number, (document, source, chunk) in enumerate(places, 1)
    ]
