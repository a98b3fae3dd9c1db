"""Collections, documents and chunks in PostgreSQL: the statements, one small function each.

Every function takes the cursor of the caller's transaction and the tenant; none commits. Vectors
and postings live in files of their own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from psycopg import Cursor
from psycopg.types.json import Jsonb

from ragkit.errors import NotFoundError
from ragkit.types import Chunk, Collection, Document, Hit, NewDocument, Page

_COLLECTIONS = """
    SELECT c.id, c.name,
        (SELECT count(*) FROM document d WHERE d.tenant = c.tenant AND d.collection_id = c.id),
        (SELECT coalesce(sum(s.chunks), 0)::bigint FROM lexical_segment s
            WHERE s.tenant = c.tenant AND s.collection_id = c.id)
        - (SELECT count(*) FROM lexical_tombstone t
            WHERE t.tenant = c.tenant AND t.collection_id = c.id)
    FROM collection c WHERE c.tenant = %s AND (%s::text IS NULL OR c.name = %s) ORDER BY c.name
"""
_CREATE_COLLECTION = """
    INSERT INTO collection (tenant, name) VALUES (%s, %s) ON CONFLICT DO NOTHING
"""
_PUT_DOCUMENT = """
    INSERT INTO document (tenant, collection_id, uri, uri_key, content_hash, fingerprint, title,
        language, media_type, metadata, page_starts, page_numbers, chars, text, source_id)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (tenant, collection_id, uri_key) DO UPDATE SET
        content_hash = excluded.content_hash, fingerprint = excluded.fingerprint,
        title = excluded.title, language = excluded.language, media_type = excluded.media_type,
        metadata = excluded.metadata, page_starts = excluded.page_starts,
        page_numbers = excluded.page_numbers, chars = excluded.chars, text = excluded.text,
        source_id = excluded.source_id, version = document.version + 1, updated_at = now()
    -- An upload never gives way to an earlier one that was slower.
    WHERE document.source_id < excluded.source_id
        OR document.source_id IS NULL OR excluded.source_id IS NULL
    RETURNING id, version
"""
# Files that a document's URI no longer needs: older ones than the one it has now, and those that
# nobody is going to make a document of.
_DROP_REPLACED = """
    DELETE FROM source s
    WHERE s.tenant = %(tenant)s AND s.collection_id = %(collection)s AND s.uri_key = %(uri)s
        AND s.id IS DISTINCT FROM %(source)s::bigint
        AND (s.id < %(source)s::bigint OR NOT EXISTS (
            SELECT 1 FROM job j WHERE j.tenant = s.tenant AND j.source_id = s.id
                AND j.state IN ('queued', 'running')))
"""
_SAME = """
    SELECT id FROM document WHERE tenant = %s AND collection_id = %s AND uri_key = %s
        AND content_hash = %s AND fingerprint = %s AND (source_id IS NULL OR source_id < %s)
    FOR UPDATE
"""
_DOCUMENTS = """
    SELECT d.id, d.uri, d.title, c.name, d.language, d.version,
        (SELECT count(*) FROM chunk k WHERE k.tenant = d.tenant AND k.document_id = d.id), d.chars
    FROM document d JOIN collection c ON c.tenant = d.tenant AND c.id = d.collection_id
"""
_IN_COLLECTION = _DOCUMENTS + "WHERE d.tenant = %s AND d.collection_id = %s ORDER BY d.uri, d.id"
_BY_ID = _DOCUMENTS + "WHERE d.tenant = %s AND d.id = %s"
_KNOWN = """
    SELECT uri, content_hash, fingerprint FROM document WHERE tenant = %s AND collection_id = %s
"""
HITS = """
    SELECT c.id, d.id, d.uri, d.title, c.page, c.start_char, c.end_char, c.headings,
        substr(d.text, c.start_char + 1, c.end_char - c.start_char), d.version
    FROM chunk c JOIN document d ON d.tenant = c.tenant AND d.id = c.document_id
    WHERE c.tenant = %s AND c.id = ANY(%s)
"""


def add_collection(cursor: Cursor[Any], tenant: str, name: str) -> bool:
    """Create a collection of that name; tell whether it is new."""
    return cursor.execute(_CREATE_COLLECTION, (tenant, name)).rowcount > 0


def collections(cursor: Cursor[Any], tenant: str, name: str | None = None) -> list[Collection]:
    """List all collections, or the one of that name."""
    return [Collection(*row) for row in cursor.execute(_COLLECTIONS, (tenant, name, name))]


def collection_id(cursor: Cursor[Any], tenant: str, name: str, *, lock: bool = False) -> int:
    """Look a collection up; with `lock` it cannot be deleted before the transaction ends."""
    query = "SELECT id FROM collection WHERE tenant = %s AND name = %s"
    row = cursor.execute(query + (" FOR KEY SHARE" if lock else ""), (tenant, name)).fetchone()
    if row is None:
        raise NotFoundError(
            f"There is no collection {name!r}: `ragkit collections list` shows those there are,"
            f" `ragkit ingest PATH --collection NAME` makes one."
        )
    return int(row[0])


def put_document(
    cursor: Cursor[Any],
    tenant: str,
    collection: int,
    new: NewDocument,
    source: int | None = None,
) -> tuple[int, int]:
    """Insert or overwrite the document's row; return its id and version. Locks the row.

    `source` is the upload that it was made of; files that are then of no use any more are deleted.
    Raises NotFoundError when a later upload has taken its place.
    """
    if source is not None:
        _lock_source(cursor, tenant, source)
    values = (
        *(tenant, collection, new.uri, uri_key(new.uri)),
        *(new.content_hash, new.fingerprint, new.title),
        *(new.language, new.media_type, Jsonb(dict(new.metadata))),
        [page.start for page in new.pages],
        [page.number for page in new.pages],
        *(len(new.text), new.text, source),
    )
    row = cursor.execute(_PUT_DOCUMENT, values).fetchone()
    if row is None:
        raise _replaced(source)
    _drop_replaced(cursor, tenant, collection, new.uri, source)
    return int(row[0]), int(row[1])


def put_source(
    cursor: Cursor[Any], tenant: str, collection: int, uri: str, source: int, known: tuple[str, str]
) -> int | None:
    """Say that the document was made of this upload, if it is what would be made of it.

    `known` are the content hash and the fingerprint of what would be made. Return the document's
    id; None when it is not there, or another. Raises NotFoundError as `put_document` does.
    """
    _lock_source(cursor, tenant, source)
    row = cursor.execute(_SAME, (tenant, collection, uri_key(uri), *known, source)).fetchone()
    if row is None:
        return None
    query = "UPDATE document SET source_id = %s WHERE tenant = %s AND id = %s"
    cursor.execute(query, (source, tenant, row[0]))
    _drop_replaced(cursor, tenant, collection, uri, source)
    return int(row[0])


def drop_source(cursor: Cursor[Any], tenant: str, source: int) -> None:
    """Delete an uploaded file that no document was made of."""
    cursor.execute("DELETE FROM source WHERE tenant = %s AND id = %s", (tenant, source))


def copy_chunks(
    cursor: Cursor[Any],
    tenant: str,
    collection: int,
    document: int,
    chunks: Sequence[Chunk],
    terms: Sequence[int],
) -> list[int]:
    """Add chunks by binary COPY, `terms` counting each one's analyser terms; return their ids."""
    cursor.execute("SELECT nextval('chunk_id') FROM generate_series(1, %s)", (len(chunks),))
    ids = [int(row[0]) for row in cursor]
    with cursor.copy(
        "COPY chunk (tenant, id, collection_id, document_id, ordinal, start_char, end_char, page,"
        " headings, tokens, terms) FROM STDIN (FORMAT BINARY)"
    ) as copy:
        copy.set_types(
            [
                "text",
                "int8",
                "int8",
                "int8",
                "int4",
                "int4",
                "int4",
                "int4",
                "text[]",
                "int4",
                "int4",
            ]
        )
        for number, chunk, length in zip(ids, chunks, terms, strict=True):
            place = (chunk.ordinal, chunk.start, chunk.end, chunk.page, list(chunk.headings))
            copy.write_row((tenant, number, collection, document, *place, chunk.tokens, length))
    return ids


def delete_chunks(cursor: Cursor[Any], tenant: str, document: int) -> None:
    """Delete a document's chunks and, by cascade, their vectors in every space."""
    cursor.execute("DELETE FROM chunk WHERE tenant = %s AND document_id = %s", (tenant, document))


def documents(cursor: Cursor[Any], tenant: str, collection: int) -> list[Document]:
    return [Document(*row) for row in cursor.execute(_IN_COLLECTION, (tenant, collection))]


def document(cursor: Cursor[Any], tenant: str, number: int) -> Document:
    row = cursor.execute(_BY_ID, (tenant, number)).fetchone()
    if row is None:
        raise _no_document(number)
    return Document(*row)


def text(cursor: Cursor[Any], tenant: str, number: int) -> str:
    query = "SELECT text FROM document WHERE tenant = %s AND id = %s"
    row = cursor.execute(query, (tenant, number)).fetchone()
    if row is None:
        raise _no_document(number)
    return str(row[0])


def pages(cursor: Cursor[Any], tenant: str, number: int) -> list[Page]:
    query = "SELECT page_starts, page_numbers FROM document WHERE tenant = %s AND id = %s"
    row = cursor.execute(query, (tenant, number)).fetchone()
    if row is None:
        raise _no_document(number)
    return [Page(start, page) for start, page in zip(*row, strict=True)]


def lock_document(cursor: Cursor[Any], tenant: str, collection: int, number: int) -> None:
    """Lock a document's row for a change; raises NotFoundError when it is not in the collection."""
    query = "SELECT 1 FROM document WHERE tenant = %s AND collection_id = %s AND id = %s FOR UPDATE"
    if cursor.execute(query, (tenant, collection, number)).fetchone() is None:
        raise _no_document(number)


def delete_document(cursor: Cursor[Any], tenant: str, number: int) -> None:
    """Delete a document and the uploaded file that it was made of."""
    query = "DELETE FROM document WHERE tenant = %s AND id = %s RETURNING source_id"
    row = cursor.execute(query, (tenant, number)).fetchone()
    if row is not None and row[0] is not None:
        drop_source(cursor, tenant, row[0])


def known(cursor: Cursor[Any], tenant: str, collection: int) -> Mapping[str, tuple[str, str]]:
    rows = cursor.execute(_KNOWN, (tenant, collection))
    return {uri: (content_hash, fingerprint) for uri, content_hash, fingerprint in rows}


def hits(cursor: Cursor[Any], tenant: str, chunks: Sequence[int]) -> list[Hit]:
    """Fetch chunks with their text, in the given order; chunks that are gone are left out."""
    found = {row[0]: row for row in cursor.execute(HITS, (tenant, list(chunks)))}
    return [_hit(*found[chunk]) for chunk in chunks if chunk in found]


def uri_key(uri: str) -> bytes:
    """Return what a URI is looked up by: its sha256."""
    return hashlib.sha256(uri.encode()).digest()


def _lock_source(cursor: Cursor[Any], tenant: str, source: int) -> None:
    query = "SELECT 1 FROM source WHERE tenant = %s AND id = %s FOR UPDATE"
    if cursor.execute(query, (tenant, source)).fetchone() is None:
        raise _replaced(source)


def _drop_replaced(
    cursor: Cursor[Any], tenant: str, collection: int, uri: str, source: int | None
) -> None:
    key = {"tenant": tenant, "collection": collection, "uri": uri_key(uri), "source": source}
    cursor.execute(_DROP_REPLACED, key)


def _replaced(source: int | None) -> NotFoundError:
    return NotFoundError(f"The uploaded file {source} is gone: a later one has taken its place.")


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
    )


def _no_document(number: int) -> NotFoundError:
    return NotFoundError(
        f"There is no document {number}: `ragkit documents list` shows those there are."
    )
