"""What stands around a chunk in its document: the chunks beside it, and stretches of stored text.

Statements only, in the caller's transaction. Who may read a document has been decided by whoever
found the chunk: callers ask about chunks that `chunks.hits` gave them in the same snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from psycopg import Cursor

from ragkit.store.chunks import span
from ragkit.types import Chunk, Span

_AROUND: Final = """
    SELECT own.id, n.ordinal, n.start_char, n.end_char, n.tokens, n.page, n.headings,
        n.lead_start, n.lead_end, n.parent_start, n.parent_end
    FROM chunk own JOIN chunk n ON n.tenant = own.tenant AND n.document_id = own.document_id
        AND n.ordinal BETWEEN own.ordinal::bigint - %(reach)s AND own.ordinal::bigint + %(reach)s
    WHERE own.tenant = %(tenant)s AND own.id = ANY(%(chunks)s)
    ORDER BY own.id, n.ordinal
"""
_EXCERPTS: Final = """
    SELECT coalesce(substr(d.text, p.start_char + 1, p.end_char - p.start_char), '')
    FROM unnest(%(documents)s::bigint[], %(starts)s::int[], %(ends)s::int[])
        WITH ORDINALITY AS p (document, start_char, end_char, place)
    LEFT JOIN document d ON d.tenant = %(tenant)s AND d.id = p.document
    ORDER BY p.place
"""


def around(
    cursor: Cursor[Any], tenant: str, chunks: Sequence[int], reach: int
) -> dict[int, list[Chunk]]:
    """Map each chunk to those of its document at most `reach` ordinals away, itself included."""
    found: dict[int, list[Chunk]] = {}
    values = {"tenant": tenant, "chunks": list(chunks), "reach": reach}
    for own, ordinal, start, end, tokens, page, headings, *over in cursor.execute(_AROUND, values):
        lead, parent = span(*over[:2]), span(*over[2:])
        chunk = Chunk(ordinal, start, end, tokens, page, tuple(headings), lead, parent)
        found.setdefault(int(own), []).append(chunk)
    return found


def excerpts(cursor: Cursor[Any], tenant: str, places: Sequence[tuple[int, Span]]) -> list[str]:
    """Cut pieces out of documents' stored texts; "" of a document that is gone."""
    values = {
        "tenant": tenant,
        "documents": [document for document, _ in places],
        "starts": [span.start for _, span in places],
        "ends": [span.end for _, span in places],
    }
    return [str(row[0]) for row in cursor.execute(_EXCERPTS, values)]
