"""The surroundings of a chunk in its document: the chunks beside it, and pieces of stored text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ragkit.store.documents.chunks import span
from ragkit.types import Chunk, Span

if TYPE_CHECKING:
    from ragkit.store.session import Session

_AROUND: Final = """
    SELECT own.id, n.ordinal, n.start_char, n.end_char, n.tokens, n.page, n.headings,
        n.lead_start, n.lead_end, n.parent_start, n.parent_end
    FROM visible_chunk own JOIN chunk n
        ON n.tenant = own.tenant AND n.document_id = own.document_id
        AND n.ordinal BETWEEN own.ordinal::bigint - %(reach)s AND own.ordinal::bigint + %(reach)s
    WHERE own.tenant = %(tenant)s AND own.id = ANY(%(chunks)s)
    ORDER BY own.id, n.ordinal
"""
_EXCERPTS: Final = """
    SELECT coalesce(substr(d.text, p.start_char + 1, p.end_char - p.start_char), '')
    FROM unnest(%(documents)s::bigint[], %(starts)s::int[], %(ends)s::int[])
        WITH ORDINALITY AS p (document, start_char, end_char, place)
    LEFT JOIN visible_document d ON d.tenant = %(tenant)s AND d.id = p.document
    ORDER BY p.place
"""


def around(session: Session, chunks: Sequence[int], reach: int) -> dict[int, list[Chunk]]:
    """Map each chunk to those of its document at most `reach` ordinals away, itself included."""
    neighbours: dict[int, list[Chunk]] = {}
    rows = session.execute(_AROUND, {"chunks": list(chunks), "reach": reach})
    for number, ordinal, start, end, tokens, page, headings, *ends in rows:
        lead, parent = span(*ends[:2]), span(*ends[2:])
        chunk = Chunk(ordinal, start, end, tokens, page, tuple(headings), lead, parent)
        neighbours.setdefault(int(number), []).append(chunk)
    return neighbours


def excerpts(session: Session, places: Sequence[tuple[int, Span]]) -> list[str]:
    """Cut pieces out of documents' stored texts; "" of a document that the session cannot see."""
    values = {
        "documents": [document for document, _ in places],
        "starts": [span.start for _, span in places],
        "ends": [span.end for _, span in places],
    }
    return [str(row[0]) for row in session.execute(_EXCERPTS, values)]
