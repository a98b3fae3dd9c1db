"""Chunks in PostgreSQL: added, taken away with all that hangs on them, fetched with their text.

Every function takes the cursor of the caller's transaction and the tenant; none commits. It knows
nothing of vectors and postings, nor of who may read what.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from psycopg import Cursor

from ragkit.store.loading import loading
from ragkit.types import Hit, NewDocument, Span

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
    "lead_start": "int4",
    "lead_end": "int4",
    "parent_start": "int4",
    "parent_end": "int4",
    "start_byte": "int4",
    "end_byte": "int4",
}
# A chunk's own text. PostgreSQL counts characters from the beginning: at the end of 700,000 of them
# that took 9 ms, of Chinese 11 ms. All of the text as bytes took 0.4 and 2.1 ms wherever the chunk
# is (the least of 100 tries each), which pays from about an eighth on, or half of a Chinese text.
TEXT = """CASE WHEN c.start_byte IS NULL
            OR c.start_char < d.chars / CASE c.start_byte WHEN c.start_char THEN 8 ELSE 2 END
        THEN substr(d.text, c.start_char + 1, c.end_char - c.start_char)
        ELSE convert_from(substring(convert_to(d.text, 'UTF8')
            FROM c.start_byte + 1 FOR c.end_byte - c.start_byte), 'UTF8') END"""
# What stands over it.
LEAD = """CASE WHEN c.lead_start IS NULL THEN ''
        ELSE substr(d.text, c.lead_start + 1, c.lead_end - c.lead_start) END"""
HITS = f"""
    SELECT c.id, d.id, d.uri, d.title, c.page, c.start_char, c.end_char, c.headings,
        {TEXT}, d.version, d.metadata, {LEAD}, c.parent_start, c.parent_end
    FROM chunk c JOIN document d ON d.tenant = c.tenant AND d.id = c.document_id
    WHERE c.tenant = %s AND c.id = ANY(%s)
"""  # noqa: S608  built from constants only


def copy_chunks(
    cursor: Cursor[Any],
    tenant: str,
    collection: int,
    documents: Sequence[tuple[int, NewDocument]],
    terms: Sequence[int],
) -> list[int]:
    """Add the chunks of documents, each with its number; return their ids, in that order.

    `terms` counts each one's analyser terms.
    """
    chunks = [
        (number, chunk, at)
        for number, new in documents
        for chunk, at in zip(new.chunks, byte_spans(new), strict=True)
    ]
    cursor.execute("SELECT nextval('chunk_id') FROM generate_series(1, %s)", (len(chunks),))
    ids = [int(row[0]) for row in cursor]
    with loading(cursor, "chunk", _COLUMNS) as load:
        for number, (document, chunk, at), length in zip(ids, chunks, terms, strict=True):
            place = (chunk.ordinal, chunk.start, chunk.end, chunk.page, list(chunk.headings))
            beside = (*_ends(chunk.lead), *_ends(chunk.parent), *at)
            of = (tenant, number, collection, document)
            load.write_row((*of, *place, chunk.tokens, length, *beside))
    return ids


def delete_chunks(cursor: Cursor[Any], tenant: str, documents: Sequence[int]) -> None:
    """Delete documents' chunks and, by cascade, their vectors in every space."""
    query = "DELETE FROM chunk WHERE tenant = %s AND document_id = ANY(%s)"
    cursor.execute(query, (tenant, list(documents)))


def hits(cursor: Cursor[Any], tenant: str, chunks: Sequence[int]) -> list[Hit]:
    """Fetch chunks with their text, in the given order; chunks that are gone are left out."""
    found = {row[0]: row for row in cursor.execute(HITS, (tenant, list(chunks)), prepare=True)}
    return [_hit(*found[chunk]) for chunk in chunks if chunk in found]


def byte_spans(new: NewDocument) -> list[tuple[int, int]]:
    """Find where each chunk begins and ends in the text's UTF-8.

    >>> from ragkit.types import Chunk
    >>> byte_spans(NewDocument("a", "", "", "航空 ab", (Chunk(0, 0, 2, 1), Chunk(1, 3, 5, 1))))
    [(0, 6), (7, 9)]
    """
    if new.text.isascii():
        return [(chunk.start, chunk.end) for chunk in new.chunks]
    places = sorted({place for chunk in new.chunks for place in (chunk.start, chunk.end)})
    at, before, counted = {}, 0, 0
    for place in places:
        counted += len(new.text[before:place].encode("utf-8", "surrogatepass"))
        at[place] = counted
        before = place
    return [(at[chunk.start], at[chunk.end]) for chunk in new.chunks]


def span(start: int | None, end: int | None) -> Span | None:
    """Return a stretch as it is kept: two numbers, or NULL twice for none."""
    return None if start is None or end is None else Span(start, end)


def _ends(stretch: Span | None) -> tuple[int | None, int | None]:
    return (None, None) if stretch is None else (stretch.start, stretch.end)


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
    lead: str,
    parent_start: int | None,
    parent_end: int | None,
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
        lead=lead,
        parent=span(parent_start, parent_end),
    )
