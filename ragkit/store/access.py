"""What somebody may read, as statements that others are made of: counts, chunks, documents.

Readers are the principals whom somebody goes by; None is an operator, who sees all. The rule itself
is the function may_read of migration 0011. It knows nothing of who has which principals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from psycopg import Cursor

from ragkit.store.where import Readers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# How much is in a collection for somebody: where no document is limited, all of it is.
COUNTS = """
    CROSS JOIN LATERAL (SELECT %(readers)s::text[] IS NULL OR NOT EXISTS (
        SELECT 1 FROM document d WHERE d.tenant = c.tenant AND d.collection_id = c.id
            AND d.readers IS NOT NULL)) AS whole (seen)
    CROSS JOIN LATERAL (
        SELECT (SELECT count(*) FROM document d
                WHERE d.tenant = c.tenant AND d.collection_id = c.id),
            (SELECT coalesce(sum(s.chunks), 0)::bigint FROM lexical_segment s
                WHERE s.tenant = c.tenant AND s.collection_id = c.id)
            - (SELECT count(*) FROM lexical_tombstone t
                WHERE t.tenant = c.tenant AND t.collection_id = c.id)
        WHERE whole.seen
        UNION ALL
        SELECT count(DISTINCT d.id), count(k.id) FROM document d
        LEFT JOIN chunk k ON k.tenant = d.tenant AND k.document_id = d.id
        WHERE NOT whole.seen AND d.tenant = c.tenant AND d.collection_id = c.id
            AND may_read(d.owner, d.readers, %(readers)s::text[])
        HAVING NOT whole.seen) AS counted (documents, chunks)
"""
# Which chunks and documents somebody may read, of those named by their numbers.
_SEEN_CHUNKS = """
    SELECT k.id FROM chunk k
    JOIN document d ON d.tenant = k.tenant AND d.id = k.document_id
    JOIN collection c ON c.tenant = d.tenant AND c.id = d.collection_id
    WHERE k.tenant = %(tenant)s AND k.id = ANY(%(ids)s)
        AND may_read(c.owner, c.readers, %(readers)s::text[])
        AND may_read(d.owner, d.readers, %(readers)s::text[])
"""
_SEEN_DOCUMENTS = """
    SELECT d.id FROM document d
    JOIN collection c ON c.tenant = d.tenant AND c.id = d.collection_id
    WHERE d.tenant = %(tenant)s AND d.id = ANY(%(ids)s)
        AND may_read(c.owner, c.readers, %(readers)s::text[])
        AND may_read(d.owner, d.readers, %(readers)s::text[])
"""
_LIMITED = """
    SELECT EXISTS (SELECT 1 FROM document WHERE tenant = %s AND collection_id = %s
        AND readers IS NOT NULL)
"""
# An array, not a join, which the planner makes of every chunk where few are hidden.
_HIDDEN_CHUNKS = """
    SELECT string_agg(int8send(id), ''::bytea), coalesce(sum(terms), 0)::bigint
    FROM chunk WHERE tenant = %(tenant)s AND document_id = ANY(ARRAY(
        SELECT d.id FROM document d
        WHERE d.tenant = %(tenant)s AND d.collection_id = %(collection)s AND d.readers IS NOT NULL
            AND NOT may_read(d.owner, d.readers, %(readers)s::text[])))
"""


def seen_chunks(
    cursor: Cursor[Any], tenant: str, chunks: Sequence[int], readers: Readers
) -> list[int]:
    """Return those of these chunks that the readers may read, in the given order."""
    if readers is None:
        return list(chunks)
    values = {"tenant": tenant, "ids": list(chunks), "readers": listed(readers)}
    seen = {int(row[0]) for row in cursor.execute(_SEEN_CHUNKS, values)}
    return [chunk for chunk in chunks if chunk in seen]


def seen_documents(
    cursor: Cursor[Any], tenant: str, documents: Sequence[int], readers: Readers
) -> frozenset[int]:
    """Return those of these documents that the readers may read."""
    if readers is None:
        return frozenset(documents)
    values = {"tenant": tenant, "ids": list(documents), "readers": listed(readers)}
    return frozenset(int(row[0]) for row in cursor.execute(_SEEN_DOCUMENTS, values))


def limited(cursor: Cursor[Any], tenant: str, collection: int) -> bool:
    """Tell whether any document of a collection is for some readers only."""
    row = cursor.execute(_LIMITED, (tenant, collection)).fetchone()
    assert row is not None
    return bool(row[0])


@dataclass(frozen=True, slots=True)
class Hidden:
    """A collection's chunks that somebody may not read: their ids, and all their terms counted."""

    chunks: NDArray[np.int64]
    terms: int


def hidden_chunks(cursor: Cursor[Any], tenant: str, collection: int, readers: Readers) -> Hidden:
    """Find a collection's chunks that the readers may not read."""
    import numpy as np

    values = {"tenant": tenant, "collection": collection, "readers": listed(readers)}
    row = cursor.execute(_HIDDEN_CHUNKS, values, binary=True).fetchone()
    assert row is not None, "a sum is one row"
    return Hidden(np.frombuffer(row[0] or b"", ">i8").astype(np.int64), int(row[1]))


def listed(readers: Readers) -> list[str] | None:
    """Write readers as a parameter."""
    return None if readers is None else list(readers)
