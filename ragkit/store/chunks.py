"""Chunks in PostgreSQL: added, taken away with all that hangs on them, fetched with their text.

Every function takes the cursor of the caller's transaction and the tenant; none commits. It knows
nothing of vectors and postings, nor of who may read what.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from psycopg import Cursor

from ragkit.store.loading import loading
from ragkit.types import Chunk, Hit

_COLUMNS = {
    "tenant": "text",
    "id": "int8",
    "collection_id": "int8",
    "document_id": "int8",
    "ordinal": "int4",
    "start_char": "int4",
    "end_char": "int4",
    "page": "int4",
    "headings": "text[]",
    "tokens": "int4",
    "terms": "int4",
}
HITS = """
    SELECT c.id, d.id, d.uri, d.title, c.page, c.start_char, c.end_char, c.headings,
        substr(d.text, c.start_char + 1, c.end_char - c.start_char), d.version, d.metadata
    FROM chunk c JOIN document d ON d.tenant = c.tenant AND d.id = c.document_id
    WHERE c.tenant = %s AND c.id = ANY(%s)
"""


def copy_chunks(
    cursor: Cursor[Any],
    tenant: str,
    collection: int,
    chunks: Sequence[tuple[int, Chunk]],
    terms: Sequence[int],
) -> list[int]:
    """Add chunks, each with its document; return their ids.

    `terms` counts each one's analyser terms.
    """
    cursor.execute("SELECT nextval('chunk_id') FROM generate_series(1, %s)", (len(chunks),))
    ids = [int(row[0]) for row in cursor]
    with loading(cursor, "chunk", _COLUMNS) as load:
        for number, (document, chunk), length in zip(ids, chunks, terms, strict=True):
            place = (chunk.ordinal, chunk.start, chunk.end, chunk.page, list(chunk.headings))
            load.write_row((tenant, number, collection, document, *place, chunk.tokens, length))
    return ids


def delete_chunks(cursor: Cursor[Any], tenant: str, documents: Sequence[int]) -> None:
    """Delete documents' chunks and, by cascade, their vectors in every space."""
    query = "DELETE FROM chunk WHERE tenant = %s AND document_id = ANY(%s)"
    cursor.execute(query, (tenant, list(documents)))


def hits(cursor: Cursor[Any], tenant: str, chunks: Sequence[int]) -> list[Hit]:
    """Fetch chunks with their text, in the given order; chunks that are gone are left out."""
    found = {row[0]: row for row in cursor.execute(HITS, (tenant, list(chunks)), prepare=True)}
    return [_hit(*found[chunk]) for chunk in chunks if chunk in found]


def _hit(
    chunk: int,
    document: int,
    uri: str,
    title: str,
    page: int | None,
    start: int,
    end: int,
    headings: list[str],
    text: str,
    version: int,
    metadata: Mapping[str, Any],
) -> Hit:
    return Hit(
        document=document,
        chunk=chunk,
        uri=uri,
        title=title,
        page=page,
        start=start,
        end=end,
        text=text,
        score=0.0,
        headings=tuple(headings),
        version=version,
        metadata=metadata,
    )
