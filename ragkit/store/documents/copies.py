"""Copies: files with the same content as a stored document, or nearly the same.

An exact copy's content is that of its document; when the document is deleted or gets other content,
the first copy becomes the document of the stored content. A near duplicate's content is not stored:
it is forgotten with its document, so that its file is taken in anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ragkit.store.documents import documents, sharing, versions
from ragkit.store.words import postings
from ragkit.types import NewDocument

if TYPE_CHECKING:
    from ragkit.store.session import Session

MAX_ALIKE: Final = 1000  # arbitrary: so many documents with a band in common are compared

# Documents that a file may be a copy of: without owner, open to all who read the collection.
_OPEN: Final = "d.source_id IS NULL AND d.owner IS NULL AND d.readers IS NULL"
_HOLDERS: Final = f"""
    SELECT content_hash, min(id) FROM document d
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s
        AND content_hash = ANY(%(hashes)s) AND char_length(content_hash) <= 64
        AND version_of IS NULL AND fingerprint = %(fingerprint)s AND {_OPEN}
    GROUP BY content_hash
"""  # noqa: S608  built from constants only
_ALIKE: Final = f"""
    SELECT DISTINCT d.id, d.uri, d.signature FROM document_band b
    JOIN document d ON d.tenant = b.tenant AND d.id = b.document_id
    WHERE b.tenant = %(tenant)s AND b.collection_id = %(collection)s
        AND b.band = ANY(%(bands)s) AND d.signature IS NOT NULL AND {_OPEN}
    ORDER BY d.id LIMIT %(limit)s
"""  # noqa: S608  built from constants only
# Documents that an upload is compared with: those that everybody reads who reads the collection.
_ALIKE_READ: Final = """
    SELECT DISTINCT d.id, d.uri, d.signature FROM document_band b
    JOIN document d ON d.tenant = b.tenant AND d.id = b.document_id
    WHERE b.tenant = %(tenant)s AND b.collection_id = %(collection)s
        AND b.band = ANY(%(bands)s) AND d.signature IS NOT NULL
        AND d.readers IS NULL AND d.version_of IS NULL
    ORDER BY d.id LIMIT %(limit)s
"""
# The document that is to be copied, and the URI's own where it has one, in one order everywhere.
_BOTH: Final = """
    SELECT id, uri_key = %(key)s, content_hash, fingerprint, source_id, owner, readers
    FROM document
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s
        AND (id = %(document)s OR uri_key = %(key)s)
    ORDER BY id FOR UPDATE
"""
# Waits for a transaction that makes the file a document at this moment.
_HOLD: Final = """
    SELECT FROM document_copy WHERE tenant = %(tenant)s AND collection_id = %(collection)s
        AND uri_key = %(key)s FOR UPDATE
"""
_HAS_DOCUMENT: Final = """
    SELECT EXISTS (SELECT FROM document WHERE tenant = %(tenant)s
        AND collection_id = %(collection)s AND uri_key = %(key)s)
"""
_PUT: Final = """
    INSERT INTO document_copy
        (tenant, collection_id, uri, uri_key, document_id, content_hash, fingerprint, similarity)
    VALUES (%(tenant)s, %(collection)s, %(uri)s, %(key)s, %(document)s, %(content_hash)s,
        %(fingerprint)s, %(similarity)s)
    ON CONFLICT (tenant, collection_id, uri_key) DO UPDATE SET document_id = excluded.document_id,
        content_hash = excluded.content_hash, fingerprint = excluded.fingerprint,
        similarity = excluded.similarity, created_at = excluded.created_at
"""
_LIST: Final = """
    SELECT k.uri, k.document_id, k.similarity FROM document_copy k
    JOIN visible_document d ON d.tenant = k.tenant AND d.id = k.document_id
    WHERE k.tenant = %(tenant)s AND k.collection_id = %(collection)s
        AND (%(document)s::bigint IS NULL OR k.document_id = %(document)s)
    ORDER BY k.document_id, k.created_at, k.uri
"""
_FORGET: Final = """
    DELETE FROM document_copy
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s AND uri_key = ANY(%(keys)s)
"""
_HEIR: Final = """
    SELECT k.uri, k.uri_key FROM document_copy k
    JOIN document d ON d.tenant = k.tenant AND d.id = k.document_id
    WHERE k.tenant = %(tenant)s AND k.document_id = %(document)s AND k.similarity = 1
        AND k.content_hash = d.content_hash
    ORDER BY k.created_at, k.uri LIMIT 1 FOR UPDATE OF k
"""
_DELETE_COPY: Final = """
    DELETE FROM document_copy
    WHERE tenant = %(tenant)s AND document_id = %(document)s AND uri_key = %(key)s
"""
_BY_URI: Final = """
    SELECT id FROM visible_document WHERE tenant = %(tenant)s AND collection_id = %(collection)s
        AND uri_key = ANY(%(keys)s) ORDER BY id FOR UPDATE
"""
_SOURCE: Final = """
    SELECT source_id FROM document WHERE tenant = %(tenant)s AND id = %(document)s
"""
_RENAME: Final = """
    UPDATE document SET uri = %(uri)s, uri_key = %(key)s, source_id = NULL
    WHERE tenant = %(tenant)s AND id = %(document)s
"""
# Documents that are about to get other content and whose content a copy still has.
_HANDED_OVER: Final = """
    SELECT d.id, d.uri_key, d.owner, d.readers FROM document d
    JOIN unnest(%(keys)s::bytea[], %(hashes)s::text[]) AS new (key, hash) ON new.key = d.uri_key
    WHERE d.tenant = %(tenant)s AND d.collection_id = %(collection)s
        AND d.content_hash <> new.hash AND may_read(d.owner, d.readers, %(principals)s::text[])
        AND (d.source_id IS NULL OR %(source)s::bigint IS NULL OR d.source_id < %(source)s)
        AND EXISTS (SELECT FROM document_copy k WHERE k.tenant = d.tenant AND k.document_id = d.id
            AND k.similarity = 1 AND k.content_hash = d.content_hash)
    ORDER BY d.id FOR UPDATE OF d
"""
_FIND: Final = """
    SELECT id FROM document
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s AND uri_key = %(key)s
"""
_DROP_STALE: Final = """
    WITH bands AS (DELETE FROM document_band
        WHERE tenant = %(tenant)s AND document_id = ANY(%(documents)s))
    DELETE FROM document_copy k USING document d
    WHERE k.tenant = %(tenant)s AND k.document_id = ANY(%(documents)s)
        AND d.tenant = %(tenant)s AND d.id = k.document_id
        AND (k.similarity < 1 OR k.content_hash <> d.content_hash)
"""
# Asked first, for mostly there are none: one statement in the place of two.
_CONCERNED: Final = """
    SELECT EXISTS (SELECT FROM document_copy WHERE tenant = %(tenant)s
            AND collection_id = %(collection)s AND uri_key = ANY(%(keys)s))
        OR EXISTS (SELECT FROM document d
            JOIN document_copy k ON k.tenant = d.tenant AND k.document_id = d.id
            WHERE d.tenant = %(tenant)s AND d.collection_id = %(collection)s
                AND d.uri_key = ANY(%(keys)s))
"""
_ADD_BANDS: Final = """
    INSERT INTO document_band (tenant, collection_id, band, document_id)
    SELECT c.tenant, c.id, t.band, t.document
    FROM collection c, unnest(%(bands)s::bigint[], %(documents)s::bigint[]) AS t (band, document)
    WHERE c.tenant = %(tenant)s AND c.id = %(collection)s
    ON CONFLICT DO NOTHING
"""


@dataclass(frozen=True, slots=True)
class FileCopy:
    """A file whose content a document has: the same bytes (1), or nearly the same text (below)."""

    uri: str
    document: int
    similarity: float


@dataclass(frozen=True, slots=True)
class FormerSharing:
    """The owner and the readers of content that was handed over, for the content in its place."""

    key: bytes
    owner: str | None
    readers: Sequence[str] | None


def holders(
    session: Session, collection: int, hashes: Sequence[str], fingerprint: str
) -> dict[str, int]:
    """Map content hashes to a document with that content and fingerprint that a file may copy."""
    values = {"collection": collection, "hashes": list(hashes), "fingerprint": fingerprint}
    return {str(content): int(number) for content, number in session.execute(_HOLDERS, values)}


def alike(
    session: Session, collection: int, bands: Sequence[int], *, uploads: bool
) -> list[tuple[int, str, bytes]]:
    """List documents that have a band in common: id, URI and signature.

    Of those that a new file may copy, or, with `uploads`, that all who read the collection read.
    """
    values = {"collection": collection, "bands": list(bands), "limit": MAX_ALIKE}
    rows = session.execute(_ALIKE_READ if uploads else _ALIKE, values, binary=True)
    return [(int(number), str(uri), bytes(signature)) for number, uri, signature in rows]


def put_copy(
    session: Session,
    collection: int,
    uri: str,
    hashes: tuple[str, str],
    document: int,
    similarity: float,
) -> bool:
    """Note that a file's content is a document's; the file's own document goes.

    `hashes` are the file's content hash and the pipeline's fingerprint. False, and nothing is done,
    where the document is gone, has other content by now, is the file's own or an upload's, or has
    another owner or other readers than the file's own document has, and where the file has just
    become the document of content that it copied.
    """
    values = {
        "collection": collection,
        "uri": uri,
        "key": documents.uri_key(uri),
        "document": document,
        "content_hash": hashes[0],
        "fingerprint": hashes[1],
        "similarity": similarity,
    }
    rows = session.execute(_BOTH, values).fetchall()
    original = next((columns for number, *columns in rows if number == document), None)
    file_row = next((row for row in rows if row[1]), None)
    source, *rights = [None, None, None] if file_row is None else file_row[4:]
    if original is None or original[0] or source is not None or original[3:] != [None, *rights]:
        return False
    if similarity == 1 and tuple(original[1:3]) != hashes:
        return False
    session.execute(_HOLD, values)
    if file_row is not None:
        remove(session, file_row[0])
    elif session.value(_HAS_DOCUMENT, values):
        return False
    session.execute(_PUT, values)
    return True


def copies(
    session: Session, collection: int, document: int | None = None
) -> dict[int, list[FileCopy]]:
    """Map documents to the files that have their content besides, the first ones first."""
    by_document: dict[int, list[FileCopy]] = {}
    values = {"collection": collection, "document": document}
    for row in session.execute(_LIST, values):
        by_document.setdefault(int(row[1]), []).append(FileCopy(*row))
    return by_document


def forget(session: Session, collection: int, keys: Sequence[bytes]) -> int:
    """Forget copies by the keys of their URIs; return how many."""
    return session.execute(_FORGET, {"collection": collection, "keys": list(keys)}).rowcount


def hand_over(
    session: Session,
    collection: int,
    hashes: Mapping[bytes, str],
    *,
    principals: Sequence[str] | None = None,
    source: int | None = None,
) -> list[FormerSharing]:
    """Make the first copy the document of content that is about to be replaced.

    `hashes` maps the keys of URIs to the hash of their new content; only documents that these
    principals may read are touched (None: an operator), and none that a later upload than `source`
    was put into. To be called before the new content is written; the result is for `share`
    afterwards.
    """
    values: dict[str, object] = {
        "collection": collection,
        "source": source,
        "keys": list(hashes),
        "hashes": list(hashes.values()),
        "principals": None if principals is None else list(principals),
    }
    if not session.value(_CONCERNED, values):
        return []
    forget(session, collection, list(hashes))
    former: list[FormerSharing] = []
    for number, key, *rights in session.execute(_HANDED_OVER, values).fetchall():
        if inherit(session, int(number)) is not None and rights != [None, None]:
            former.append(FormerSharing(bytes(key), *rights))
    return former


def share(session: Session, collection: int, former: Sequence[FormerSharing]) -> None:
    """Give new content the owner and the readers of the content that it replaced."""
    for rights in former:
        row = session.row(_FIND, {"collection": collection, "key": rights.key})
        if row is not None:
            sharing.set_document(session, collection, int(row[0]), rights.owner, rights.readers)


def inherit(session: Session, document: int) -> str | None:
    """Make a locked document that of its first exact copy; return its URI, None without one."""
    heir = session.row(_HEIR, {"document": document})
    if heir is None:
        return None
    values = {"document": document, "uri": heir[0], "key": heir[1]}
    source = session.value(_SOURCE, values)
    session.execute(_DELETE_COPY, values)
    session.execute(_RENAME, values)
    if source is not None:
        documents.drop_source(session, source)
    return str(heir[0])


def remove(session: Session, document: int, *, with_copies: bool = False) -> str | None:
    """Delete a locked document, or make it that of a copy, whose URI is returned then."""
    if not with_copies and (heir := inherit(session, document)) is not None:
        return heir
    versions.drop_beyond(session, [document], 0)
    postings.bury(session, [document])
    documents.delete_document(session, document)
    return None


def remove_uris(session: Session, collection: int, keys: Sequence[bytes]) -> int:
    """Delete the documents and copies of files, by the keys of their URIs; return how many."""
    forgotten = forget(session, collection, keys)
    values = {"collection": collection, "keys": list(keys)}
    rows = session.execute(_BY_URI, values).fetchall()
    for (number,) in rows:
        remove(session, int(number))
    return forgotten + len(rows)


def drop_stale(session: Session, numbers: Sequence[int]) -> None:
    """Forget the copies of documents that have other content by now, and their bands."""
    session.execute(_DROP_STALE, {"documents": list(numbers)})


def add_bands(
    session: Session,
    collection: int,
    numbers: Sequence[int],
    stored: Sequence[NewDocument],
) -> None:
    """Write the bands by which nearly equal documents are found."""
    numbered = zip(numbers, stored, strict=True)
    pairs = [(band, number) for number, document in numbered for band in document.bands]
    if pairs:
        bands, owners = zip(*pairs, strict=True)
        values = {"collection": collection, "bands": list(bands), "documents": list(owners)}
        session.execute(_ADD_BANDS, values)
