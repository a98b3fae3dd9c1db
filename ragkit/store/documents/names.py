"""Documents by their names, as people type them.

Which documents a name fits is defined in `ragkit.documents.names`; here it is a condition in SQL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ragkit.documents.names import (
    END,
    EXTENSION,
    FILE,
    FOLDERS,
    PART,
    STEM,
    TITLE,
    URI,
    closest,
    stem,
)
from ragkit.types import Document

if TYPE_CHECKING:
    from ragkit.store.session import Session

MAX_LOOKED_AT: Final = 1000  # URIs that may be like a name; arbitrary

# How well %(name)s fits the column uri: see `ragkit.documents.names.fit`. %(bare)s has no slash.
FIT: Final = f"""
    CASE WHEN uri = %(name)s THEN {URI}
        WHEN right(uri, char_length(%(bare)s) + 1) IN ('/' || %(bare)s, ':' || %(bare)s) THEN {FILE}
        WHEN regexp_replace(uri, '{FOLDERS}|{EXTENSION}', '', 'g') = %(name)s THEN {STEM}
        WHEN right(uri, char_length(%(name)s)) = %(name)s THEN {END} END
"""
# How well it fits a document: see `ragkit.documents.names.fit_document`.
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
        FROM visible_document d
        JOIN collection c ON c.tenant = d.tenant AND c.id = d.collection_id
        WHERE d.tenant = %(tenant)s AND d.version_of IS NULL AND {FIT_DOCUMENT} IS NOT NULL
            AND (%(collection)s::bigint IS NULL OR c.id = %(collection)s)
        ORDER BY fit, c.name, d.uri, d.id LIMIT %(limit)s) AS called
    JOIN visible_document d ON d.tenant = %(tenant)s AND d.id = called.id
    ORDER BY called.fit, called.collection, d.uri, d.id
"""  # noqa: S608
_NEAR: Final = """
    SELECT uri FROM visible_document WHERE tenant = %(tenant)s AND collection_id = %(collection)s
        AND EXISTS (SELECT 1 FROM unnest(%(pieces)s::text[]) AS piece
            WHERE position(piece IN lower(uri)) > 0)
    ORDER BY id DESC LIMIT %(limit)s
"""


def called(name: str) -> dict[str, str]:
    """Write a name as the parameters of `FIT`."""
    return {"name": name, "bare": name.removeprefix("/")}


def ending(session: Session, collection: int | None, name: str, limit: int) -> list[Document]:
    """List up to `limit` of the documents that a name fits best; None: of every collection."""
    values = {"collection": collection, "limit": limit, **called(name)}
    rows = session.execute(_ENDING, values).fetchall()
    return [Document(*row[:-1]) for row in rows if row[-1] == rows[0][-1]]


def near(session: Session, collection: int, name: str) -> list[str]:
    """List a few URIs of documents with nearly this name, the closest first."""
    bare = stem(name).lower()
    half = len(bare) // 2  # a slip in one half leaves the other as it is
    pieces = [piece for piece in (bare[:half], bare[half:]) if piece]
    values = {"collection": collection, "limit": MAX_LOOKED_AT, "pieces": pieces}
    return closest(name, (row[0] for row in session.execute(_NEAR, values)))
