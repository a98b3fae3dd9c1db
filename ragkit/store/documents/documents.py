"""Collections and documents in PostgreSQL: the statements, one small function each.

Every function runs in the caller's session; none commits. Chunks, vectors and postings have files
of their own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from psycopg.types.json import Jsonb

from ragkit.errors import NOTHING_INGESTED, NotFoundError
from ragkit.store.documents.visible import COUNTS
from ragkit.types import Collection, Document, NewDocument, Page

if TYPE_CHECKING:
    from ragkit.store.session import Session

_COLLECTIONS = f"""
    SELECT c.id, c.name, counted.documents, counted.chunks FROM visible_collection c {COUNTS}
    WHERE c.tenant = %(tenant)s AND (%(name)s::text IS NULL OR c.name = %(name)s)
        AND c.versions_of IS NULL
    ORDER BY c.name
"""  # noqa: S608
_CREATE_COLLECTION = """
    INSERT INTO collection (tenant, name, settings) VALUES (%(tenant)s, %(name)s, %(settings)s)
    ON CONFLICT DO NOTHING
"""
_FIND_COLLECTION = """
    SELECT id, settings FROM visible_collection
    WHERE tenant = %(tenant)s AND name = %(name)s AND versions_of IS NULL
"""
_LOCK_COLLECTION = """
    SELECT id, settings FROM visible_collection
    WHERE tenant = %(tenant)s AND name = %(name)s AND versions_of IS NULL FOR KEY SHARE
"""
_NAMES = """
    SELECT name FROM visible_collection
    WHERE tenant = %(tenant)s AND versions_of IS NULL ORDER BY name
"""
PUT_DOCUMENT = """
    INSERT INTO document (tenant, collection_id, uri, uri_key, content_hash, fingerprint, title,
        language, media_type, metadata, page_starts, page_numbers, page_labels, chars, text,
        signature, bytes, source_id, owner)
    VALUES (%(tenant)s, %(collection)s, %(uri)s, %(key)s, %(content_hash)s, %(fingerprint)s,
        %(title)s, %(language)s, %(media_type)s, %(metadata)s, %(page_starts)s, %(page_numbers)s,
        %(page_labels)s, %(chars)s, %(text)s, %(signature)s, %(bytes)s, %(source)s, %(owner)s)
    ON CONFLICT (tenant, collection_id, uri_key) DO UPDATE SET
        content_hash = excluded.content_hash, fingerprint = excluded.fingerprint,
        title = excluded.title, language = excluded.language, media_type = excluded.media_type,
        metadata = excluded.metadata, page_starts = excluded.page_starts,
        page_numbers = excluded.page_numbers, page_labels = excluded.page_labels,
        chars = excluded.chars, text = excluded.text, signature = excluded.signature,
        bytes = excluded.bytes, source_id = excluded.source_id, version = document.version + 1,
        updated_at = greatest(excluded.updated_at, ragkit_next_moment(document.updated_at))
    -- An upload never replaces a later one that was quicker, nor a document that its sender may not
    -- read by now.
    WHERE (document.source_id < excluded.source_id
            OR document.source_id IS NULL OR excluded.source_id IS NULL)
        AND may_read(document.owner, document.readers, %(principals)s::text[])
    RETURNING id, version
"""
# Files that a document's URI no longer needs: older ones than its current one, and those without an
# open job.
_DROP_REPLACED = """
    DELETE FROM source s
    WHERE s.tenant = %(tenant)s AND s.collection_id = %(collection)s AND s.uri_key = ANY(%(keys)s)
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
    FROM visible_document d JOIN collection c ON c.tenant = d.tenant AND c.id = d.collection_id
"""
_IN_COLLECTION = f"""{_DOCUMENTS}
    WHERE d.tenant = %(tenant)s AND d.collection_id = %(collection)s ORDER BY d.uri, d.id
"""
_BY_ID = f"{_DOCUMENTS} WHERE d.tenant = %(tenant)s AND d.id = %(document)s"
_LANGUAGES = """
    SELECT language, count(*) FROM visible_document
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s GROUP BY 1
"""
_SOURCES = """
    SELECT id, text, page_starts, page_numbers, page_labels FROM visible_document
    WHERE tenant = %(tenant)s AND id = ANY(%(documents)s)
"""
_OF_DOCUMENT = " FROM visible_document WHERE tenant = %(tenant)s AND id = %(document)s"
_LOCK = """
    SELECT 1 FROM visible_document WHERE tenant = %(tenant)s AND collection_id = %(collection)s
        AND id = %(document)s FOR UPDATE
"""
_KEY = """
    SELECT uri_key FROM visible_document WHERE tenant = %(tenant)s
        AND collection_id = %(collection)s AND id = %(document)s
"""
# Copies come first: a file that is a document of its own by now goes by that.
_DOCUMENTS_BY_URI = """
    SELECT k.uri, k.document_id, k.content_hash, k.fingerprint FROM document_copy k
    JOIN visible_document d ON d.tenant = k.tenant AND d.id = k.document_id
    WHERE k.tenant = %(tenant)s AND k.collection_id = %(collection)s
        AND (%(keys)s::bytea[] IS NULL OR k.uri_key = ANY(%(keys)s))
    UNION ALL
    SELECT uri, id, content_hash, fingerprint FROM visible_document
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s
        AND (%(keys)s::bytea[] IS NULL OR uri_key = ANY(%(keys)s))
"""
_MAX_NAMES = 5  # collections that an error names; arbitrary
_LOCK_ROW = "SELECT FROM collection WHERE tenant = %(tenant)s AND id = %(collection)s FOR UPDATE"
_IS_USED = """
    SELECT owner IS NOT NULL OR readers IS NOT NULL OR settings ? 'ingest'
        OR EXISTS (SELECT FROM document d
            WHERE d.tenant = %(tenant)s AND d.collection_id = c.id)
        OR EXISTS (SELECT FROM source s
            WHERE s.tenant = %(tenant)s AND s.collection_id = c.id)
        OR EXISTS (SELECT FROM job j WHERE j.tenant = %(tenant)s
            AND j.collection_id = c.id AND j.state IN ('queued', 'running'))
        OR EXISTS (SELECT FROM ingest_run r WHERE r.tenant = %(tenant)s
            AND r.collection_id = c.id AND r.ended_at IS NULL
            AND r.id IS DISTINCT FROM %(run)s)
    FROM collection c WHERE tenant = %(tenant)s AND id = %(collection)s
"""
# With the collection of its old versions, whose row goes by the foreign key.
_WITH_VERSIONS = """
    SELECT id FROM collection WHERE tenant = %(tenant)s
        AND (id = %(collection)s OR versions_of = %(collection)s)
"""
_DELETE_COLLECTION = "DELETE FROM collection WHERE tenant = %(tenant)s AND id = %(collection)s"
_DELETE_POSTINGS = """
    DELETE FROM lexical_posting WHERE tenant = %(tenant)s AND collection_id = ANY(%(collections)s)
"""


def add_collection(session: Session, name: str, settings: Mapping[str, str]) -> bool:
    """Create a collection of that name with its settings; tell whether it is new."""
    values = {"name": name, "settings": Jsonb(dict(settings))}
    return session.execute(_CREATE_COLLECTION, values).rowcount > 0


def delete_collection(session: Session, collection: int) -> None:
    """Delete a collection with all that is in it and its old versions.

    Postings go after the row, whose deletion waits for writers: they have no foreign key.
    """
    values = {"collection": collection}
    session.execute(_LOCK_ROW, values)
    numbers = [int(row[0]) for row in session.execute(_WITH_VERSIONS, values)]
    session.execute(_DELETE_COLLECTION, values)
    session.execute(_DELETE_POSTINGS, {"collections": numbers})


def drop_unused(session: Session, collection: int, run: int | None) -> bool:
    """Delete a collection that is empty and that no command is at work on: see `PostgresStore`.

    The row is locked by a statement of its own: the next one must see what the row's former holders
    have written.
    """
    values = {"collection": collection, "run": run}
    session.execute(_LOCK_ROW, values)
    if session.row(_IS_USED, values) != (False,):
        return False
    delete_collection(session, collection)
    return True


def collections(session: Session, name: str | None = None) -> list[Collection]:
    """List all visible collections, or the one of that name, with what the session sees in them."""
    return [Collection(*row) for row in session.execute(_COLLECTIONS, {"name": name})]


def collection_id(session: Session, name: str, *, lock: bool = False) -> int:
    """Look a collection up; with `lock` it cannot be deleted before the session ends.

    Raises NotFoundError, also for one that the session may not read.
    """
    return collection_row(session, name, lock=lock)[0]


def collection_row(
    session: Session, name: str, *, lock: bool = False
) -> tuple[int, Mapping[str, Any]]:
    """Look a collection up as `collection_id` does: its id and its settings."""
    row = session.row(_LOCK_COLLECTION if lock else _FIND_COLLECTION, {"name": name})
    if row is None:
        raise no_collection(session, name)
    return int(row[0]), row[1]


def no_collection(session: Session, name: str) -> NotFoundError:
    """Say that there is no collection of that name; an operator is told the names of some."""
    if session.readers is not None:
        return NotFoundError(f"There is no collection {name!r}, or you may not read it.")
    names = [repr(row[0]) for row in session.execute(_NAMES)]
    if not names:
        return NotFoundError(NOTHING_INGESTED)
    hidden = len(names) - _MAX_NAMES
    text = ", ".join(names[:_MAX_NAMES]) + (f" and {hidden} more" if hidden > 0 else "")
    return NotFoundError(
        f"There is no collection {name!r}, only {text}: choose one with --collection NAME."
    )


def put_documents(
    session: Session, collection: int, documents: Sequence[NewDocument]
) -> list[tuple[int, int]]:
    """Insert or overwrite the documents' rows; return each one's id and version. Locks the rows.

    Uploaded files that are then no longer needed are deleted. A document that is overwritten keeps
    its owner and its readers.
    """
    keys = [uri_key(document.uri) for document in documents]
    pairs = zip(documents, keys, strict=True)
    rows = [document_values(collection, document, key) for document, key in pairs]
    session.execute_many(PUT_DOCUMENT, rows, returning=True)
    stored = [row for result in session.cursor.results() for row in result.fetchall()]
    drop_replaced(session, collection, keys, None)
    return [(int(number), int(version)) for number, version in stored]


def stored_document(document: NewDocument, collection: str, number: int, version: int) -> Document:
    """Return a document as it was just stored."""
    return Document(
        id=number,
        uri=document.uri,
        title=document.title,
        collection=collection,
        language=document.language,
        version=version,
        chunks=len(document.chunks),
        chars=len(document.text),
    )


def document_values(collection: int, document: NewDocument, key: bytes) -> dict[str, object]:
    """Write a document as the parameters of `PUT_DOCUMENT`, of no upload."""
    labels = [page.label for page in document.pages]
    return {
        "collection": collection,
        "uri": document.uri,
        "key": key,
        "content_hash": document.content_hash,
        "fingerprint": document.fingerprint,
        "title": document.title,
        "language": document.language,
        "media_type": document.media_type,
        "metadata": Jsonb(dict(document.metadata)),
        "page_starts": [page.start for page in document.pages],
        "page_numbers": [page.number for page in document.pages],
        "page_labels": labels if any(labels) else None,
        "chars": len(document.text),
        "text": document.text,
        "signature": document.signature or None,
        "bytes": document.size_bytes,
        "source": None,
        "owner": None,
        "principals": None,
    }


def drop_source(session: Session, source: int) -> None:
    """Delete an uploaded file that no document was made of."""
    session.execute(
        "DELETE FROM source WHERE tenant = %(tenant)s AND id = %(source)s", {"source": source}
    )


def documents_by_uri(
    session: Session, collection: int, uris: Sequence[str] | None = None
) -> dict[str, int]:
    """Map those of these URIs that a collection has to their documents; all of them for None."""
    rows = _rows_by_uri(session, collection, uris)
    return {uri: int(number) for uri, number, _, _ in rows}


def hashes_by_uri(
    session: Session, collection: int, uris: Sequence[str] | None = None
) -> Mapping[str, tuple[str, str]]:
    """Map those URIs to content hash and fingerprint, as `documents_by_uri` does."""
    rows = _rows_by_uri(session, collection, uris)
    return {uri: (content_hash, fingerprint) for uri, _, content_hash, fingerprint in rows}


def documents(session: Session, collection: int) -> list[Document]:
    """List a collection's documents by their URIs."""
    rows = session.execute(_IN_COLLECTION, {"collection": collection})
    return [Document(*row) for row in rows]


def languages(session: Session, collection: int) -> dict[str, int]:
    """Count a collection's documents by their language."""
    rows = session.execute(_LANGUAGES, {"collection": collection})
    return {str(name): int(count) for name, count in rows}


def document(session: Session, number: int) -> Document:
    """Look a document up. Raises NotFoundError, as the next functions do."""
    row = session.row(_BY_ID, {"document": number})
    if row is None:
        raise _no_document(number)
    return Document(*row)


def text(session: Session, number: int) -> str:
    """Return a document's canonical text."""
    return str(_columns(session, "SELECT text", number)[0])


def sources(session: Session, numbers: Sequence[int]) -> dict[int, tuple[str, Sequence[Page]]]:
    """Map documents to their canonical text and their pages; those that are gone are absent."""
    rows = session.execute(_SOURCES, {"documents": numbers})
    return {int(number): (str(text), pages_of(*columns)) for number, text, *columns in rows}


def metadata(session: Session, number: int) -> dict[str, Any]:
    """Return a document's metadata."""
    return dict(_columns(session, "SELECT metadata", number)[0])


def pages_of(
    starts: Sequence[int], numbers: Sequence[int], labels: Sequence[str] | None
) -> list[Page]:
    """Make pages of their columns; where there are no labels, a page is called by its number."""
    names = labels or [""] * len(starts)
    return [Page(*page) for page in zip(starts, numbers, names, strict=True)]


def key_of(session: Session, collection: int, number: int) -> bytes:
    """Return the key of a document's URI. Raises NotFoundError as `lock_document`."""
    row = session.row(_KEY, {"collection": collection, "document": number})
    if row is None:
        raise _no_document(number)
    return bytes(row[0])


def lock_document(session: Session, collection: int, number: int) -> None:
    """Lock a document's row for a change; raises NotFoundError when it is not in the collection."""
    if session.row(_LOCK, {"collection": collection, "document": number}) is None:
        raise _no_document(number)


def delete_document(session: Session, number: int) -> None:
    """Delete a document and the uploaded file that it was made of."""
    query = "DELETE FROM document WHERE tenant = %(tenant)s AND id = %(document)s"
    row = session.row(query + " RETURNING source_id", {"document": number})
    if row is not None and row[0] is not None:
        drop_source(session, row[0])


def uri_key(uri: str) -> bytes:
    """Return what a URI is looked up by: its sha256."""
    return hashlib.sha256(uri.encode()).digest()


def drop_replaced(
    session: Session, collection: int, keys: Sequence[bytes], source: int | None
) -> None:
    """Delete the uploaded files of these URIs that are no longer needed, `source` excepted."""
    values = {"collection": collection, "keys": list(keys), "source": source}
    session.execute(_DROP_REPLACED, values)


def _columns(session: Session, select: str, number: int) -> tuple[Any, ...]:
    row = session.row((select + _OF_DOCUMENT).encode(), {"document": number})
    if row is None:
        raise _no_document(number)
    return row


def _rows_by_uri(
    session: Session, collection: int, uris: Sequence[str] | None
) -> list[tuple[Any, ...]]:
    keys = None if uris is None else [uri_key(uri) for uri in uris]
    return session.execute(_DOCUMENTS_BY_URI, {"collection": collection, "keys": keys}).fetchall()


def _no_document(number: int) -> NotFoundError:
    return NotFoundError(
        f"There is no document {number}: `ragkit documents list` shows those there are."
    )
