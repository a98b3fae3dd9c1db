"""Make an uploaded file a document: which document it replaces, and which it must not.

A document is replaced only by an upload whose sender may read it at that moment; a document that
the sender may not read is neither replaced nor mentioned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragkit.errors import IngestError, NotFoundError
from ragkit.store.documents.copies import hand_over, share
from ragkit.store.documents.documents import PUT_DOCUMENT, document_values, drop_replaced, uri_key
from ragkit.store.documents.versions import keep
from ragkit.types import NewDocument

if TYPE_CHECKING:
    from ragkit.store.session import Session

_SAME = """
    SELECT id FROM document WHERE tenant = %(tenant)s AND collection_id = %(collection)s
        AND uri_key = %(key)s AND content_hash = %(content_hash)s
        AND fingerprint = ANY(%(fingerprints)s) AND (source_id IS NULL OR source_id < %(source)s)
        AND may_read(owner, readers, %(principals)s::text[])
    FOR UPDATE
"""
_LOCK_SOURCE = """
    SELECT s.uri, s.uri_key, s.principal, s.principals,
        may_read(c.owner, c.readers, s.principals)
    FROM source s JOIN collection c ON c.tenant = s.tenant AND c.id = s.collection_id
    WHERE s.tenant = %(tenant)s AND s.id = %(source)s FOR UPDATE OF s
"""
_HIDDEN = """
    SELECT 1 FROM document WHERE tenant = %(tenant)s AND collection_id = %(collection)s
        AND uri_key = %(key)s AND NOT may_read(owner, readers, %(principals)s::text[])
"""
_SET_KEY = """
    UPDATE source SET uri_key = %(key)s WHERE tenant = %(tenant)s AND id = %(source)s
"""
_SET_SOURCE = """
    UPDATE document SET source_id = %(source)s WHERE tenant = %(tenant)s AND id = %(document)s
"""


def put_upload(
    session: Session,
    collection: int,
    document: NewDocument,
    source: int,
    *,
    keeps_versions: bool = False,
) -> tuple[int, int]:
    """Store the document of an upload; return its id and version. Locks its row.

    The sender of the file owns a new document. Where the file's URI is that of a document that the
    sender may not read by now, the new one gets a key of its own beside it. With `keeps_versions`
    a replaced document is kept. Raises NotFoundError when a later upload has replaced this one,
    IngestError when it may be put nowhere.
    """
    upload = _lock_source(session, source)
    principals = upload.principals
    rights = {"source": source, "owner": upload.owner, "principals": principals}
    for key in dict.fromkeys((upload.key, own_key(upload.uri, upload.principal))):
        values = {**document_values(collection, document, key), **rights}
        former = hand_over(
            session,
            collection,
            {key: document.content_hash},
            principals=principals,
            source=source,
        )
        if keeps_versions:
            keep(session, collection, [key], source=source, principals=principals)
        row = session.row(PUT_DOCUMENT, values)
        share(session, collection, former)
        if row is not None:
            if key != upload.key:  # later uploads look it up by that
                session.execute(_SET_KEY, values)
            drop_replaced(session, collection, [key], source)
            return int(row[0]), int(row[1])
        if session.row(_HIDDEN, values) is None:
            raise gone(source)
    reason = "its place is a document's whose sharing was changed, and whoever sent the file"
    raise IngestError("store", f"{reason} may not read it: send the file under another name")


def put_source(
    session: Session,
    collection: int,
    source: int,
    content_hash: str,
    fingerprints: frozenset[str],
) -> int | None:
    """Record that a document was made of this upload, if it is the one that would be made of it.

    That is a document with this content and one of these fingerprints. Return its id; None when
    there is none, it differs, or the sender may not read it. Raises what `put_upload` does.
    """
    upload = _lock_source(session, source)
    values: dict[str, object] = {
        "collection": collection,
        "key": upload.key,
        "content_hash": content_hash,
        "fingerprints": list(fingerprints),
        "source": source,
        "principals": upload.principals,
    }
    row = session.row(_SAME, values)
    if row is None:
        return None
    session.execute(_SET_SOURCE, {**values, "document": row[0]})
    drop_replaced(session, collection, [upload.key], source)
    return int(row[0])


def own_key(uri: str, principal: str) -> bytes:
    """Return the key of a principal's document whose URI is that of another, hidden one."""
    return uri_key(f"{uri}\0user:{principal}")


@dataclass(frozen=True, slots=True)
class _Upload:
    """An upload: its URI, the key that its document is looked up by, and who sent it."""

    uri: str
    key: bytes
    principal: str
    principals: list[str] | None

    @property
    def owner(self) -> str | None:
        return f"user:{self.principal}" if self.principal else None


def _lock_source(session: Session, source: int) -> _Upload:
    row = session.row(_LOCK_SOURCE, {"source": source})
    if row is None:
        raise gone(source)
    *columns, is_open_to_sender = row
    if not is_open_to_sender:
        reason = "the collection is not open any more to whoever sent the file"
        raise IngestError("store", reason)
    return _Upload(*columns)


def gone(source: int) -> NotFoundError:
    """Say that an uploaded file is no longer stored."""
    return NotFoundError(f"The uploaded file {source} is gone: a later one has taken its place.")
