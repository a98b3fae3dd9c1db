"""An uploaded file on its way to be a document: whose place it takes, and whose it must not.

A document is replaced only by an upload whose sender may read it at that moment; what he may not
read is neither replaced nor told of. It knows nothing of chunks and of jobs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from psycopg import Cursor

from ragkit.errors import IngestError, NotFoundError
from ragkit.store.copies import hand_over, share
from ragkit.store.documents import PUT_DOCUMENT, drop_replaced, row_of, uri_key
from ragkit.types import NewDocument

_SAME = """
    SELECT id FROM document WHERE tenant = %s AND collection_id = %s AND uri_key = %s
        AND content_hash = %s AND fingerprint = ANY(%s) AND (source_id IS NULL OR source_id < %s)
        AND may_read(owner, readers, %s::text[])
    FOR UPDATE
"""
_LOCK_SOURCE = """
    SELECT s.uri, s.uri_key, s.principal, s.principals,
        may_read(c.owner, c.readers, s.principals)
    FROM source s JOIN collection c ON c.tenant = s.tenant AND c.id = s.collection_id
    WHERE s.tenant = %s AND s.id = %s FOR UPDATE OF s
"""
_HIDDEN = """
    SELECT 1 FROM document WHERE tenant = %s AND collection_id = %s AND uri_key = %s
        AND NOT may_read(owner, readers, %s::text[])
"""


def put_upload(
    cursor: Cursor[Any], tenant: str, collection: int, new: NewDocument, source: int
) -> tuple[int, int]:
    """Put a document in its upload's place; return its id and version. Locks its row.

    Whoever sent the file owns what is new. Where the place is that of a document that the sender
    may not read by now, it gets one of its own beside that. Raises NotFoundError when a later
    upload has taken its place, IngestError when it may be put nowhere.
    """
    sent = _lock_source(cursor, tenant, source)
    for key in dict.fromkeys((sent.key, own_key(sent.uri, sent.principal))):
        values = (*row_of(tenant, collection, new, key), source, sent.owner, sent.principals)
        content = {key: new.content_hash}
        readers = None if sent.principals is None else tuple(sent.principals)
        left = hand_over(cursor, tenant, collection, content, readers=readers, source=source)
        row = cursor.execute(PUT_DOCUMENT, values).fetchone()
        share(cursor, tenant, collection, left)
        if row is not None:
            if key != sent.key:  # later uploads look it up by that
                query = "UPDATE source SET uri_key = %s WHERE tenant = %s AND id = %s"
                cursor.execute(query, (key, tenant, source))
            drop_replaced(cursor, tenant, collection, [key], source)
            return int(row[0]), int(row[1])
        hidden = (tenant, collection, key, sent.principals)
        if cursor.execute(_HIDDEN, hidden).fetchone() is None:
            raise gone(source)
    reason = "its place is a document's whose sharing was changed, and whoever sent the file"
    raise IngestError("store", f"{reason} may not read it: send the file under another name")


def put_source(
    cursor: Cursor[Any],
    tenant: str,
    collection: int,
    source: int,
    content_hash: str,
    fingerprints: frozenset[str],
) -> int | None:
    """Say that the document was made of this upload, if it is what would be made of it.

    It is where it has this content and one of these fingerprints. Return the document's id; None
    when it is not there, or another, or not for whoever sent the upload. Raises what
    `put_upload` does.
    """
    sent = _lock_source(cursor, tenant, source)
    values = (
        tenant,
        collection,
        sent.key,
        content_hash,
        list(fingerprints),
        source,
        sent.principals,
    )
    row = cursor.execute(_SAME, values).fetchone()
    if row is None:
        return None
    query = "UPDATE document SET source_id = %s WHERE tenant = %s AND id = %s"
    cursor.execute(query, (source, tenant, row[0]))
    drop_replaced(cursor, tenant, collection, [sent.key], source)
    return int(row[0])


def own_key(uri: str, principal: str) -> bytes:
    """Return what somebody's document is looked up by where the URI is another's, whom he may not
    read."""
    return uri_key(f"{uri}\0user:{principal}")


@dataclass(frozen=True, slots=True)
class _Sent:
    """What an upload is to become: by what its document is found, and who sent it."""

    uri: str
    key: bytes
    principal: str
    principals: list[str] | None

    @property
    def owner(self) -> str | None:
        return f"user:{self.principal}" if self.principal else None


def _lock_source(cursor: Cursor[Any], tenant: str, source: int) -> _Sent:
    row = cursor.execute(_LOCK_SOURCE, (tenant, source)).fetchone()
    if row is None:
        raise gone(source)
    *sent, open_to_sender = row
    if not open_to_sender:
        reason = "the collection is not open any more to whoever sent the file"
        raise IngestError("store", reason)
    return _Sent(*sent)


def gone(source: int) -> NotFoundError:
    """Say that an uploaded file is there no more."""
    return NotFoundError(f"The uploaded file {source} is gone: a later one has taken its place.")
