"""Files whose content another document has: stored once, listed, and taking over when it goes.

An exact copy's content is that of its document; when the document is deleted or gets other content,
the first copy takes over what was stored. A near duplicate's content is not stored: it is forgotten
with its document, so that its file is taken in anew. It knows nothing of how copies are found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ragkit.store import documents, postings, versions
from ragkit.store.access import listed
from ragkit.store.rows import first_value
from ragkit.types import NewDocument

if TYPE_CHECKING:
    from psycopg import Cursor

    from ragkit.store.where import Readers

MAX_ALIKE: Final = 1000  # arbitrary: so many documents with a band in common are looked at

# What a file without a document may share: nobody's own, open to all who read the collection.
_OPEN: Final = "d.source_id IS NULL AND d.owner IS NULL AND d.readers IS NULL"
_HOLDERS: Final = f"""
    SELECT content_hash, min(id) FROM document d
    WHERE tenant = %s AND collection_id = %s AND content_hash = ANY(%s)
        AND char_length(content_hash) <= 64 AND version_of IS NULL AND fingerprint = %s AND {_OPEN}
    GROUP BY content_hash
"""  # noqa: S608  built from constants only
_ALIKE: Final = f"""
    SELECT DISTINCT d.id, d.uri, d.signature FROM document_band b
    JOIN document d ON d.tenant = b.tenant AND d.id = b.document_id
    WHERE b.tenant = %s AND b.collection_id = %s AND b.band = ANY(%s) AND d.signature IS NOT NULL
        AND {_OPEN}
    ORDER BY d.id LIMIT %s
"""  # noqa: S608  built from constants only
# What an upload is compared with: all that those may read who may read the collection.
_ALIKE_READ: Final = """
    SELECT DISTINCT d.id, d.uri, d.signature FROM document_band b
    JOIN document d ON d.tenant = b.tenant AND d.id = b.document_id
    WHERE b.tenant = %s AND b.collection_id = %s AND b.band = ANY(%s) AND d.signature IS NOT NULL
        AND d.readers IS NULL AND d.version_of IS NULL
    ORDER BY d.id LIMIT %s
"""
# The document that is to be copied, and the URI's own where it has one, in one order everywhere.
_BOTH: Final = """
    SELECT id, uri_key = %s, content_hash, fingerprint, source_id, owner, readers FROM document
    WHERE tenant = %s AND collection_id = %s AND (id = %s OR uri_key = %s) ORDER BY id FOR UPDATE
"""
# Waits for whoever hands a document over to the file at this moment.
_HOLD: Final = """
    SELECT FROM document_copy WHERE tenant = %s AND collection_id = %s AND uri_key = %s FOR UPDATE
"""
_HAS_OWN: Final = """
    SELECT EXISTS (SELECT FROM document WHERE tenant = %s AND collection_id = %s AND uri_key = %s)
"""
_PUT: Final = """
    INSERT INTO document_copy
        (tenant, collection_id, uri, uri_key, document_id, content_hash, fingerprint, similarity)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (tenant, collection_id, uri_key) DO UPDATE SET document_id = excluded.document_id,
        content_hash = excluded.content_hash, fingerprint = excluded.fingerprint,
        similarity = excluded.similarity, created_at = now()
"""
_LIST: Final = """
    SELECT k.uri, k.document_id, k.similarity FROM document_copy k
    JOIN document d ON d.tenant = k.tenant AND d.id = k.document_id
    WHERE k.tenant = %(tenant)s AND k.collection_id = %(collection)s
        AND (%(document)s::bigint IS NULL OR k.document_id = %(document)s)
        AND may_read(d.owner, d.readers, %(readers)s::text[])
    ORDER BY k.document_id, k.created_at, k.uri
"""
_FORGET: Final = """
    DELETE FROM document_copy WHERE tenant = %s AND collection_id = %s AND uri_key = ANY(%s)
"""
_HEIR: Final = """
    SELECT k.uri, k.uri_key FROM document_copy k
    JOIN document d ON d.tenant = k.tenant AND d.id = k.document_id
    WHERE k.tenant = %s AND k.document_id = %s AND k.similarity = 1
        AND k.content_hash = d.content_hash
    ORDER BY k.created_at, k.uri LIMIT 1 FOR UPDATE OF k
"""
_TAKEN_OVER: Final = """
    DELETE FROM document_copy WHERE tenant = %s AND document_id = %s AND uri_key = %s
"""
_OF_URIS: Final = """
    SELECT id FROM document d WHERE tenant = %(tenant)s AND collection_id = %(collection)s
        AND uri_key = ANY(%(keys)s) AND may_read(owner, readers, %(readers)s::text[])
    ORDER BY id FOR UPDATE
"""
_SOURCE: Final = "SELECT source_id FROM document WHERE tenant = %s AND id = %s"
_RENAME: Final = """
    UPDATE document SET uri = %s, uri_key = %s, source_id = NULL WHERE tenant = %s AND id = %s
"""
# Those of which a copy is the last to have the content that is about to be replaced.
_GIVING: Final = """
    SELECT d.id, d.uri_key, d.owner, d.readers FROM document d
    JOIN unnest(%(keys)s::bytea[], %(hashes)s::text[]) AS new (key, hash) ON new.key = d.uri_key
    WHERE d.tenant = %(tenant)s AND d.collection_id = %(collection)s
        AND d.content_hash <> new.hash AND may_read(d.owner, d.readers, %(readers)s::text[])
        AND (d.source_id IS NULL OR %(source)s::bigint IS NULL OR d.source_id < %(source)s)
        AND EXISTS (SELECT FROM document_copy k WHERE k.tenant = d.tenant AND k.document_id = d.id
            AND k.similarity = 1 AND k.content_hash = d.content_hash)
    ORDER BY d.id FOR UPDATE OF d
"""
_SHARE: Final = """
    UPDATE document SET owner = %s, readers = %s
    WHERE tenant = %s AND collection_id = %s AND uri_key = %s
"""
_DROP_STALE: Final = """
    WITH bands AS (DELETE FROM document_band
        WHERE tenant = %(tenant)s AND document_id = ANY(%(of)s))
    DELETE FROM document_copy k USING document d
    WHERE k.tenant = %(tenant)s AND k.document_id = ANY(%(of)s)
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
    SELECT %s, %s, band, document
    FROM unnest(%s::bigint[], %s::bigint[]) AS t (band, document)
    ON CONFLICT DO NOTHING
"""


@dataclass(frozen=True, slots=True)
class FileCopy:
    """A file whose content a document has: the same bytes (1), or nearly the same text (below)."""

    uri: str
    document: int
    similarity: float


@dataclass(frozen=True, slots=True)
class Sharing:
    """Who owns and who may read what was handed over, for the new content in its place."""

    key: bytes
    owner: str | None
    readers: Sequence[str] | None


def holders(
    cursor: Cursor[Any], tenant: str, collection: int, hashes: Sequence[str], fingerprint: str
) -> dict[str, int]:
    """Map content to a document that has it, made in this way, and that a new file may share."""
    values = (tenant, collection, list(hashes), fingerprint)
    return {str(content): int(number) for content, number in cursor.execute(_HOLDERS, values)}


def alike(
    cursor: Cursor[Any], tenant: str, collection: int, bands: Sequence[int], *, uploads: bool
) -> list[tuple[int, str, bytes]]:
    """List documents that have a band in common: with signatures.

    Of those that a new file may share, or, with `uploads`, that all who read the collection read.
    """
    query = _ALIKE_READ if uploads else _ALIKE
    rows = cursor.execute(query, (tenant, collection, list(bands), MAX_ALIKE), binary=True)
    return [(int(number), str(uri), bytes(signature)) for number, uri, signature in rows]


def put_copy(
    cursor: Cursor[Any],
    tenant: str,
    collection: int,
    uri: str,
    known: tuple[str, str],
    document: int,
    similarity: float,
) -> bool:
    """Note that a file's content is a document's; a document that it was itself goes.

    `known` are the file's content hash and the pipeline's fingerprint. False, and nothing is done,
    where the document is gone, has other content by now, is the file's own or an upload's, or has
    another owner or other readers than the file's own document has, and where the file has just
    become the heir of a document.
    """
    key = documents.uri_key(uri)
    rows = cursor.execute(_BOTH, (key, tenant, collection, document, key)).fetchall()
    original = next((rest for number, *rest in rows if number == document), None)
    own = next((row for row in rows if row[1]), None)
    source, *sharing = [None, None, None] if own is None else own[4:]
    if original is None or original[0] or source is not None or original[3:] != [None, *sharing]:
        return False
    if similarity == 1 and tuple(original[1:3]) != known:
        return False
    cursor.execute(_HOLD, (tenant, collection, key))
    if own is not None:
        remove(cursor, tenant, own[0])
    elif first_value(cursor, _HAS_OWN, (tenant, collection, key)):
        return False
    cursor.execute(_PUT, (tenant, collection, uri, key, document, *known, similarity))
    return True


def copies(
    cursor: Cursor[Any],
    tenant: str,
    collection: int,
    document: int | None = None,
    readers: Readers = None,
) -> dict[int, list[FileCopy]]:
    """Map documents to the files that have their content besides, the first ones first."""
    found: dict[int, list[FileCopy]] = {}
    values = {"tenant": tenant, "collection": collection, "document": document}
    for row in cursor.execute(_LIST, {**values, "readers": listed(readers)}):
        found.setdefault(int(row[1]), []).append(FileCopy(*row))
    return found


def forget(cursor: Cursor[Any], tenant: str, collection: int, keys: Sequence[bytes]) -> int:
    """Forget files that were copies, by what their URIs are looked up by; return how many."""
    return cursor.execute(_FORGET, (tenant, collection, list(keys))).rowcount


def hand_over(
    cursor: Cursor[Any],
    tenant: str,
    collection: int,
    new: Mapping[bytes, str],
    *,
    readers: Readers = None,
    source: int | None = None,
) -> list[Sharing]:
    """Let the first copy take over what new content is about to take the place of.

    `new` maps what URIs are looked up by to the hash of their new content; only documents that the
    readers may read are touched, and none that a later upload than `source` was put into. To be
    called before the new content is written; what is returned is for `share` after that.
    """
    values = {"tenant": tenant, "collection": collection, "source": source, "keys": list(new)}
    if not first_value(cursor, _CONCERNED, values):
        return []
    forget(cursor, tenant, collection, list(new))
    given = {"hashes": list(new.values()), "readers": listed(readers)}
    left: list[Sharing] = []
    for number, key, *sharing in cursor.execute(_GIVING, {**values, **given}).fetchall():
        if inherit(cursor, tenant, int(number)) is not None and sharing != [None, None]:
            left.append(Sharing(bytes(key), *sharing))
    return left


def share(cursor: Cursor[Any], tenant: str, collection: int, left: Sequence[Sharing]) -> None:
    """Give new content the owner and the readers of what it took the place of."""
    for one in left:
        readers = None if one.readers is None else list(one.readers)
        cursor.execute(_SHARE, (one.owner, readers, tenant, collection, one.key))


def inherit(cursor: Cursor[Any], tenant: str, document: int) -> str | None:
    """Make a locked document that of its first exact copy; return its URI, None without one."""
    heir = cursor.execute(_HEIR, (tenant, document)).fetchone()
    if heir is None:
        return None
    uri, key = heir
    source = cursor.execute(_SOURCE, (tenant, document)).fetchone()
    cursor.execute(_TAKEN_OVER, (tenant, document, key))
    cursor.execute(_RENAME, (uri, key, tenant, document))
    if source is not None and source[0] is not None:
        documents.drop_source(cursor, tenant, source[0])
    return str(uri)


def remove(
    cursor: Cursor[Any], tenant: str, document: int, *, with_copies: bool = False
) -> str | None:
    """Delete a locked document, or hand it over; return the URI of the copy that has it now."""
    if not with_copies and (heir := inherit(cursor, tenant, document)) is not None:
        return heir
    versions.drop_beyond(cursor, tenant, [document], 0)
    postings.bury(cursor, tenant, [document])
    documents.delete_document(cursor, tenant, document)
    return None


def remove_uris(
    cursor: Cursor[Any],
    tenant: str,
    collection: int,
    keys: Sequence[bytes],
    readers: Readers = None,
) -> int:
    """Delete what was made of files, by what their URIs are looked up by; return of how many."""
    gone = forget(cursor, tenant, collection, keys)
    values = {"tenant": tenant, "collection": collection, "keys": list(keys)}
    rows = cursor.execute(_OF_URIS, {**values, "readers": listed(readers)}).fetchall()
    for (number,) in rows:
        remove(cursor, tenant, int(number))
    return gone + len(rows)


def drop_stale(cursor: Cursor[Any], tenant: str, of: Sequence[int]) -> None:
    """Forget the copies of documents that have other content by now, and their bands."""
    cursor.execute(_DROP_STALE, {"tenant": tenant, "of": list(of)})


def add_bands(
    cursor: Cursor[Any],
    tenant: str,
    collection: int,
    numbers: Sequence[int],
    new: Sequence[NewDocument],
) -> None:
    """Write the bands by which documents are found that are nearly equal."""
    pairs = [(band, number) for number, one in zip(numbers, new, strict=True) for band in one.bands]
    if pairs:
        bands, of = zip(*pairs, strict=True)
        cursor.execute(_ADD_BANDS, (tenant, collection, list(bands), list(of)))
