"""Documents by what they are called, for people who type a name: found in the database.

It lists no collection as a whole. What a name fits is defined in `ragkit.naming`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ragkit.naming import END, EXTENSION, FILE, FOLDERS, PART, STEM, TITLE, URI, closest, stem
from ragkit.store.access import listed
from ragkit.types import Document

if TYPE_CHECKING:
    from psycopg import Cursor

    from ragkit.store.where import Readers

MAX_LOOKED_AT: Final = 1000  # URIs that may be like a name; arbitrary

# How well %(name)s fits the column uri: see `ragkit.naming.fit`; %(bare)s is it without a slash.
FIT: Final = f"""
    CASE WHEN uri = %(name)s THEN {URI}
        WHEN right(uri, char_length(%(bare)s) + 1) IN ('/' || %(bare)s, ':' || %(bare)s) THEN {FILE}
        WHEN regexp_replace(uri, '{FOLDERS}|{EXTENSION}', '', 'g') = %(name)s THEN {STEM}
        WHEN right(uri, char_length(%(name)s)) = %(name)s THEN {END} END
"""
# How well it fits a document: see `ragkit.naming.fit_document`.
FIT_DOCUMENT: Final = f"""
    coalesce(least({FIT}, CASE WHEN lower(title) = lower(%(name)s) THEN {TITLE} END),
        CASE WHEN strpos(lower(title), lower(%(name)s)) > 0
            OR strpos(lower(uri), lower(%(name)s)) > 0 THEN {PART} END)
"""
_ENDING: Final = f"""
    SELECT d.id, d.uri, d.title, called.collection, d.language, d.version,
        (SELECT count(*) FROM chunk k WHERE k.tenant = d.tenant AND k.document_id = d.id), d.chars,
        called.fit
    FROM (
        SELECT d.id, c.name AS collection, {FIT_DOCUMENT} AS fit
        FROM document d JOIN collection c ON c.tenant = d.tenant AND c.id = d.collection_id
        WHERE d.tenant = %(tenant)s AND d.version_of IS NULL AND {FIT_DOCUMENT} IS NOT NULL
            AND (%(collection)s::bigint IS NULL OR c.id = %(collection)s)
            AND may_read(c.owner, c.readers, %(readers)s::text[])
            AND may_read(d.owner, d.readers, %(readers)s::text[])
        ORDER BY fit, c.name, d.uri, d.id LIMIT %(limit)s) AS called
    JOIN document d ON d.tenant = %(tenant)s AND d.id = called.id
    ORDER BY called.fit, called.collection, d.uri, d.id
"""  # noqa: S608
_NEAR: Final = """
    SELECT uri FROM document d WHERE tenant = %(tenant)s AND collection_id = %(collection)s
        AND may_read(owner, readers, %(readers)s::text[]) AND EXISTS (
            SELECT 1 FROM unnest(%(pieces)s::text[]) AS piece
            WHERE position(piece IN lower(uri)) > 0)
    ORDER BY id DESC LIMIT %(limit)s
"""


def called(name: str) -> dict[str, str]:
    """Write a name as the parameters of `FIT`."""
    return {"name": name, "bare": name.removeprefix("/")}


def ending(
    cursor: Cursor[Any],
    tenant: str,
    collection: int | None,
    name: str,
    limit: int,
    readers: Readers = None,
) -> list[Document]:
    """List up to `limit` of the documents that a name fits best; None: of every collection."""
    which = {"tenant": tenant, "collection": collection, "limit": limit}
    values = {**which, **called(name), "readers": listed(readers)}
    found = cursor.execute(_ENDING, values).fetchall()
    return [Document(*row[:-1]) for row in found if row[-1] == found[0][-1]]


def near(
    cursor: Cursor[Any], tenant: str, collection: int, name: str, readers: Readers = None
) -> list[str]:
    """List a few URIs of documents that are called nearly so, the closest first."""
    bare = stem(name).lower()
    half = len(bare) // 2  # a slip in one half leaves the other as it is
    pieces = [piece for piece in (bare[:half], bare[half:]) if piece]
    which = {"tenant": tenant, "collection": collection, "limit": MAX_LOOKED_AT}
    rows = cursor.execute(_NEAR, {**which, "pieces": pieces, "readers": listed(readers)})
    return closest(name, (row[0] for row in rows))
