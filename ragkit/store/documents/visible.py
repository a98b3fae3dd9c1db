"""Which documents and chunks a session may read, for statements that are not about them alone.

The rule itself is in the views of schema.sql: visible_collection, visible_document, visible_chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragkit.store.documents.filter_sql import Readers
    from ragkit.store.session import Session

# How many documents and chunks a collection has for the session: where no document is limited, all.
COUNTS: Final = """
    CROSS JOIN LATERAL (SELECT %(readers)s::text[] IS NULL OR NOT EXISTS (
        SELECT 1 FROM document d WHERE d.tenant = %(tenant)s AND d.collection_id = c.id
            AND d.readers IS NOT NULL)) AS everything (visible)
    CROSS JOIN LATERAL (
        SELECT (SELECT count(*) FROM document d
                WHERE d.tenant = %(tenant)s AND d.collection_id = c.id),
            (SELECT coalesce(sum(s.chunks), 0)::bigint FROM lexical_segment s
                WHERE s.tenant = %(tenant)s AND s.collection_id = c.id)
            - (SELECT count(*) FROM lexical_tombstone t
                WHERE t.tenant = %(tenant)s AND t.collection_id = c.id)
        WHERE everything.visible
        UNION ALL
        SELECT count(DISTINCT d.id), count(k.id) FROM visible_document d
        LEFT JOIN chunk k ON k.tenant = d.tenant AND k.document_id = d.id
        WHERE NOT everything.visible AND d.tenant = %(tenant)s AND d.collection_id = c.id
        HAVING NOT everything.visible) AS counted (documents, chunks)
"""
_VISIBLE_CHUNKS: Final = """
    SELECT id FROM visible_chunk WHERE tenant = %(tenant)s AND id = ANY(%(chunks)s)
"""
# Which of the documents that a row's citations name exist and are hidden from the session.
HIDDEN_DOCUMENTS: Final = """
    CASE WHEN citations = '[]' OR %(readers)s::text[] IS NULL THEN '{}'::bigint[] ELSE ARRAY(
        SELECT d.id FROM document d
        WHERE d.tenant = %(tenant)s AND d.id IN (
                SELECT (citation ->> 'document')::bigint
                FROM jsonb_array_elements(citations) AS citation)
            AND NOT EXISTS (SELECT FROM visible_document v
                WHERE v.tenant = %(tenant)s AND v.id = d.id)
        ORDER BY d.id) END
"""
# An array, not a join, which the planner makes of every chunk where few are hidden.
_HIDDEN_CHUNKS: Final = """
    SELECT string_agg(int8send(id), ''::bytea), coalesce(sum(terms), 0)::bigint
    FROM chunk WHERE tenant = %(tenant)s AND document_id = ANY(ARRAY(
        SELECT d.id FROM document d WHERE d.tenant = %(tenant)s
            AND d.collection_id = %(collection)s AND d.readers IS NOT NULL
        EXCEPT SELECT v.id FROM visible_document v WHERE v.tenant = %(tenant)s
            AND v.collection_id = %(collection)s AND v.readers IS NOT NULL))
"""


def visible_chunks(session: Session, chunks: Sequence[int]) -> list[int]:
    """Return those of these chunks that the session may read, in the given order."""
    if session.readers is None:
        return list(chunks)
    rows = session.execute(_VISIBLE_CHUNKS, {"chunks": list(chunks)})
    visible = {int(row[0]) for row in rows}
    return [chunk for chunk in chunks if chunk in visible]


@dataclass(frozen=True, slots=True)
class Hidden:
    """A collection's chunks that a session may not read: their ids, and all their terms counted."""

    chunks: NDArray[np.int64]
    terms: int


def hidden_chunks(session: Session, collection: int) -> Hidden:
    """Find a collection's chunks that the session may not read."""
    import numpy as np

    rows = session.execute(_HIDDEN_CHUNKS, {"collection": collection}, binary=True)
    row = rows.fetchone()
    assert row is not None, "a sum is one row"
    return Hidden(np.frombuffer(row[0] or b"", ">i8").astype(np.int64), int(row[1]))


def listed(readers: Readers) -> list[str] | None:
    """Write readers as a parameter."""
    return None if readers is None else list(readers)
