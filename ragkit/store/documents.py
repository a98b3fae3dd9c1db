"""Collections and documents in PostgreSQL: the statements, one small function each.

Every function takes the cursor of the caller's transaction and the tenant; none commits. Chunks,
vectors and postings live in files of their own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from psycopg import Cursor
from psycopg.types.json import Jsonb

from ragkit.errors import NOTHING_INGESTED, NotFoundError
from ragkit.store.access import COUNTS, listed
from ragkit.store.where import Readers
from ragkit.types import Collection, Document, NewDocument, Page

_COLLECTIONS = f"""
    SELECT c.id, c.name, counted.documents, counted.chunks FROM collection c {COUNTS}
    WHERE c.tenant = %(tenant)s AND (%(name)s::text IS NULL OR c.name = %(name)s)
        AND c.versions_of IS NULL AND may_read(c.owner, c.readers, %(readers)s::text[])
    ORDER BY c.name
"""  # noqa: S608
_CREATE_COLLECTION = """
    INSERT INTO collection (tenant, name, settings) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING
"""
PUT_DOCUMENT = """
    INSERT INTO document (tenant, collection_id, uri, uri_key, content_hash, fingerprint, title,
        language, media_type, metadata, page_starts, page_numbers, page_labels, chars, text,
        signature, bytes, source_id, owner)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (tenant, collection_id, uri_key) DO UPDATE SET
        content_hash = excluded.content_hash, fingerprint = excluded.fingerprint,
        title = excluded.title, language = excluded.language, media_type = excluded.media_type,
        metadata = excluded.metadata, page_starts = excluded.page_starts,
        page_numbers = excluded.page_numbers, page_labels = excluded.page_labels,
        chars = excluded.chars, text = excluded.text, signature = excluded.signature,
        bytes = excluded.bytes, source_id = excluded.source_id, version = document.version + 1,
        updated_at = greatest(now(), document.updated_at + interval '1 microsecond')
    -- An upload never gives way to an earlier one that was slower, and replaces nothing that its
    -- sender may not read by now.
    WHERE (document.source_id < excluded.source_id
            OR document.source_id IS NULL OR excluded.source_id IS NULL)
        AND may_read(document.owner, document.readers, %s::text[])
    RETURNING id, version
"""
# Files that a document's URI no longer needs: older ones than the one it has now, and those that
# nobody is going to make a document of.
_DROP_REPLACED = """
    DELETE FROM source s
    WHERE s.tenant = %(tenant)s AND s.collection_id = %(collection)s AND s.uri_key = ANY(%(uris)s)
        AND s.id IS DISTINCT FROM %(source)s::bigint
        AND (s.id < %(source)s::bigint OR NOT EXISTS (
            SELECT 1 FROM job j WHERE j.tenant = s.tenant AND j.source_id = s.id
                AND j.state IN ('queued', 'running')))
"""
_DOCUMENTS = """
    SELECT d.id, d.uri, d.title,
        coalesce((SELECT m.name FROM collection m
            WHERE m.tenant = c.tenant AND m.id = c.versions_of), c.name),
        d.language, d.version,
        (SELECT count(*) FROM chunk k WHERE k.tenant = d.tenant AND k.document_id = d.id), d.chars
    FROM document d JOIN collection c ON c.tenant = d.tenant AND c.id = d.collection_id
"""
_READABLE = " AND may_read(d.owner, d.readers, %(readers)s::text[])"
# Of a document that is looked up by itself: its collection has to be readable as well.
_SEEN = f"""
    FROM document d JOIN collection c ON c.tenant = d.tenant AND c.id = d.collection_id
    WHERE d.tenant = %(tenant)s AND d.id = %(id)s
        AND may_read(c.owner, c.readers, %(readers)s::text[]) {_READABLE}
"""
_IN_COLLECTION = f"""{_DOCUMENTS}
    WHERE d.tenant = %(tenant)s AND d.collection_id = %(collection)s {_READABLE}
    ORDER BY d.uri, d.id
"""
_LANGUAGES = f"""
    SELECT d.language, count(*) FROM document d
    WHERE d.tenant = %(tenant)s AND d.collection_id = %(collection)s {_READABLE} GROUP BY 1
"""  # noqa: S608
_BY_ID = f"""{_DOCUMENTS}
    WHERE d.tenant = %(tenant)s AND d.id = %(id)s
        AND may_read(c.owner, c.readers, %(readers)s::text[]) {_READABLE}
"""
_LOCK = f"""
    SELECT 1 FROM document d WHERE d.tenant = %(tenant)s AND d.collection_id = %(collection)s
        AND d.id = %(id)s {_READABLE} FOR UPDATE
"""  # noqa: S608
_KEY = f"""
    SELECT d.uri_key FROM document d WHERE d.tenant = %(tenant)s
        AND d.collection_id = %(collection)s AND d.id = %(id)s {_READABLE}
"""  # noqa: S608
# Copies come first: a file that is a document of its own by now goes by that.
_NAMED = f"""
    SELECT k.uri, k.document_id FROM document_copy k
    JOIN document d ON d.tenant = k.tenant AND d.id = k.document_id
    WHERE k.tenant = %(tenant)s AND k.collection_id = %(collection)s
        AND (%(keys)s::bytea[] IS NULL OR k.uri_key = ANY(%(keys)s)) {_READABLE}
    UNION ALL
    SELECT uri, id FROM document d WHERE tenant = %(tenant)s AND collection_id = %(collection)s
        AND (%(keys)s::bytea[] IS NULL OR uri_key = ANY(%(keys)s)) {_READABLE}
"""  # noqa: S608
# Copies come first: a file that is a document of its own by now is known by that.
_KNOWN = f"""
    SELECT k.uri, k.content_hash, k.fingerprint FROM document_copy k
    JOIN document d ON d.tenant = k.tenant AND d.id = k.document_id
    WHERE k.tenant = %(tenant)s AND k.collection_id = %(collection)s
        AND (%(keys)s::bytea[] IS NULL OR k.uri_key = ANY(%(keys)s)) {_READABLE}
    UNION ALL
    SELECT uri, content_hash, fingerprint FROM document d
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s
        AND (%(keys)s::bytea[] IS NULL OR uri_key = ANY(%(keys)s)) {_READABLE}
"""  # noqa: S608
_MAX_OTHERS = 5  # collections that an error names; arbitrary
_LOCK_COLLECTION = "SELECT FROM collection WHERE tenant = %(tenant)s AND id = %(id)s FOR UPDATE"
_DROP_UNUSED = """
    DELETE FROM collection c WHERE tenant = %(tenant)s AND id = %(id)s
        AND owner IS NULL AND readers IS NULL AND NOT settings ? 'ingest'
        AND NOT EXISTS (SELECT FROM document d
            WHERE d.tenant = c.tenant AND d.collection_id = c.id)
        AND NOT EXISTS (SELECT FROM source s
            WHERE s.tenant = c.tenant AND s.collection_id = c.id)
        AND NOT EXISTS (SELECT FROM job j WHERE j.tenant = c.tenant
            AND j.collection_id = c.id AND j.state IN ('queued', 'running'))
        AND NOT EXISTS (SELECT FROM ingest_run r WHERE r.tenant = c.tenant
            AND r.collection_id = c.id AND r.ended_at IS NULL
            AND r.id IS DISTINCT FROM %(run)s)
"""


def add_collection(
    cursor: Cursor[Any], tenant: str, name: str, settings: Mapping[str, str]
) -> bool:
    """Create a collection of that name with what it is to keep of settings; tell if it is new."""
    values = (tenant, name, Jsonb(dict(settings)))
    return cursor.execute(_CREATE_COLLECTION, values).rowcount > 0


def drop_unused(cursor: Cursor[Any], tenant: str, collection: int, run: int | None) -> bool:
    """Delete a collection that nothing is in and nobody works on: see `PostgresStore`.

    The row is locked by a statement of its own: the one that deletes must see what those have
    written who held the row before.
    """
    values = {"tenant": tenant, "id": collection, "run": run}
    cursor.execute(_LOCK_COLLECTION, values)
    return cursor.execute(_DROP_UNUSED, values).rowcount > 0


def collections(
    cursor: Cursor[Any], tenant: str, name: str | None = None, readers: Readers = None
) -> list[Collection]:
    """List all collections, or the one of that name, with what is in them for somebody."""
    values = {"tenant": tenant, "name": name, "readers": listed(readers)}
    return [Collection(*row) for row in cursor.execute(_COLLECTIONS, values)]


def collection_id(
    cursor: Cursor[Any], tenant: str, name: str, *, lock: bool = False, readers: Readers = None
) -> int:
    """Look a collection up; with `lock` it cannot be deleted before the transaction ends.

    One that the readers may not read is not there.
    """
    return collection_row(cursor, tenant, name, lock=lock, readers=readers)[0]


def collection_row(
    cursor: Cursor[Any], tenant: str, name: str, *, lock: bool = False, readers: Readers = None
) -> tuple[int, Mapping[str, Any]]:
    """Look a collection up as `collection_id` does: its id, and what it keeps of settings."""
    query = (
        "SELECT id, settings FROM collection WHERE tenant = %s AND name = %s"
        " AND versions_of IS NULL AND may_read(owner, readers, %s::text[])"
    )
    values = (tenant, name, listed(readers))
    row = cursor.execute(query + (" FOR KEY SHARE" if lock else ""), values).fetchone()
    if row is None:
        raise no_collection(cursor, tenant, name, readers)
    return int(row[0]), row[1]


def no_collection(
    cursor: Cursor[Any], tenant: str, name: str, readers: Readers = None
) -> NotFoundError:
    """Say that there is no collection of that name; an operator is told of others."""
    if readers is not None:
        return NotFoundError(f"There is no collection {name!r}, or you may not read it.")
    query = "SELECT name FROM collection WHERE tenant = %s AND versions_of IS NULL ORDER BY name"
    names = [repr(other) for (other,) in cursor.execute(query, (tenant,))]
    if not names:
        return NotFoundError(NOTHING_INGESTED)
    shown, more = names[:_MAX_OTHERS], len(names) - _MAX_OTHERS
    listed = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
    return NotFoundError(
        f"There is no collection {name!r}, but {listed}: choose one with --collection NAME."
    )


def put_documents(
    cursor: Cursor[Any],
    tenant: str,
    collection: int,
    new: Sequence[NewDocument],
) -> list[tuple[int, int]]:
    """Insert or overwrite the documents' rows; return each one's id and version. Locks the rows.

    Uploaded files that are then of no use any more are deleted. A document that is overwritten
    keeps its owner and its readers.
    """
    keys = [uri_key(one.uri) for one in new]
    rows = [
        (*row_of(tenant, collection, one, key), None, None, None)
        for one, key in zip(new, keys, strict=True)
    ]
    cursor.executemany(PUT_DOCUMENT, rows, returning=True)
    stored = [row for result in cursor.results() for row in result.fetchall()]
    drop_replaced(cursor, tenant, collection, keys, None)
    return [(int(number), int(version)) for number, version in stored]


def stored(new: NewDocument, collection: str, number: int, version: int) -> Document:
    """Return a document as it was just stored."""
    return Document(
        id=number,
        uri=new.uri,
        title=new.title,
        collection=collection,
        language=new.language,
        version=version,
        chunks=len(new.chunks),
        chars=len(new.text),
    )


def row_of(tenant: str, collection: int, new: NewDocument, key: bytes) -> tuple[object, ...]:
    return (
        *(tenant, collection, new.uri, key),
        *(new.content_hash, new.fingerprint, new.title),
        *(new.language, new.media_type, Jsonb(dict(new.metadata))),
        [page.start for page in new.pages],
        [page.number for page in new.pages],
        [page.label for page in new.pages] if any(page.label for page in new.pages) else None,
        *(len(new.text), new.text, new.signature or None, new.size_bytes),
    )


def drop_source(cursor: Cursor[Any], tenant: str, source: int) -> None:
    """Delete an uploaded file that no document was made of."""
    cursor.execute("DELETE FROM source WHERE tenant = %s AND id = %s", (tenant, source))


def named(
    cursor: Cursor[Any],
    tenant: str,
    collection: int,
    uris: Sequence[str] | None,
    readers: Readers = None,
) -> dict[str, int]:
    """Map those of these URIs that a collection has to their documents; all of them for None."""
    keys = None if uris is None else [uri_key(uri) for uri in uris]
    values = {"tenant": tenant, "collection": collection, "keys": keys}
    rows = cursor.execute(_NAMED, {**values, "readers": listed(readers)})
    return {uri: int(number) for uri, number in rows}


def documents(
    cursor: Cursor[Any], tenant: str, collection: int, readers: Readers = None
) -> list[Document]:
    values = {"tenant": tenant, "collection": collection, "readers": listed(readers)}
    return [Document(*row) for row in cursor.execute(_IN_COLLECTION, values)]


def languages(
    cursor: Cursor[Any], tenant: str, collection: int, readers: Readers = None
) -> dict[str, int]:
    values = {"tenant": tenant, "collection": collection, "readers": listed(readers)}
    return {str(name): int(count) for name, count in cursor.execute(_LANGUAGES, values)}


def document(cursor: Cursor[Any], tenant: str, number: int, readers: Readers = None) -> Document:
    values = {"tenant": tenant, "id": number, "readers": listed(readers)}
    row = cursor.execute(_BY_ID, values).fetchone()
    if row is None:
        raise _no_document(number)
    return Document(*row)


def text(cursor: Cursor[Any], tenant: str, number: int, readers: Readers = None) -> str:
    values = {"tenant": tenant, "id": number, "readers": listed(readers)}
    row = cursor.execute("SELECT d.text" + _SEEN, values).fetchone()
    if row is None:
        raise _no_document(number)
    return str(row[0])


def pages(cursor: Cursor[Any], tenant: str, number: int, readers: Readers = None) -> list[Page]:
    values = {"tenant": tenant, "id": number, "readers": listed(readers)}
    query = "SELECT d.page_starts, d.page_numbers, d.page_labels" + _SEEN
    row = cursor.execute(query, values).fetchone()
    if row is None:
        raise _no_document(number)
    return pages_of(*row)


def pages_of(
    starts: Sequence[int], numbers: Sequence[int], labels: Sequence[str] | None
) -> list[Page]:
    """Put pages together as they are kept; no labels at all: each is called by its number."""
    named = labels or [""] * len(starts)
    return [Page(*page) for page in zip(starts, numbers, named, strict=True)]


def metadata(
    cursor: Cursor[Any], tenant: str, number: int, readers: Readers = None
) -> dict[str, Any]:
    values = {"tenant": tenant, "id": number, "readers": listed(readers)}
    row = cursor.execute("SELECT d.metadata" + _SEEN, values).fetchone()
    if row is None:
        raise _no_document(number)
    return dict(row[0])


def key_of(
    cursor: Cursor[Any], tenant: str, collection: int, number: int, readers: Readers = None
) -> bytes:
    """Return what a document's URI is looked up by. Raises NotFoundError as `lock_document`."""
    which = {"tenant": tenant, "collection": collection, "id": number}
    row = cursor.execute(_KEY, {**which, "readers": listed(readers)}).fetchone()
    if row is None:
        raise _no_document(number)
    return bytes(row[0])


def lock_document(
    cursor: Cursor[Any], tenant: str, collection: int, number: int, readers: Readers = None
) -> None:
    """Lock a document's row for a change; raises NotFoundError when it is not in the collection."""
    which = {"tenant": tenant, "collection": collection, "id": number}
    if cursor.execute(_LOCK, {**which, "readers": listed(readers)}).fetchone() is None:
        raise _no_document(number)


def delete_document(cursor: Cursor[Any], tenant: str, number: int) -> None:
    """Delete a document and the uploaded file that it was made of."""
    query = "DELETE FROM document WHERE tenant = %s AND id = %s RETURNING source_id"
    row = cursor.execute(query, (tenant, number)).fetchone()
    if row is not None and row[0] is not None:
        drop_source(cursor, tenant, row[0])


def known(
    cursor: Cursor[Any],
    tenant: str,
    collection: int,
    uris: Sequence[str] | None = None,
    readers: Readers = None,
) -> Mapping[str, tuple[str, str]]:
    keys = None if uris is None else [uri_key(uri) for uri in uris]
    values = {"tenant": tenant, "collection": collection, "keys": keys}
    rows = cursor.execute(_KNOWN, {**values, "readers": listed(readers)})
    return {uri: (content_hash, fingerprint) for uri, content_hash, fingerprint in rows}


def uri_key(uri: str) -> bytes:
    """Return what a URI is looked up by: its sha256."""
    return hashlib.sha256(uri.encode()).digest()


def drop_replaced(
    cursor: Cursor[Any], tenant: str, collection: int, keys: Sequence[bytes], source: int | None
) -> None:
    values = {"tenant": tenant, "collection": collection, "uris": list(keys), "source": source}
    cursor.execute(_DROP_REPLACED, values)


def _no_document(number: int) -> NotFoundError:
    return NotFoundError(
        f"There is no document {number}: `ragkit documents list` shows those there are."
    )
