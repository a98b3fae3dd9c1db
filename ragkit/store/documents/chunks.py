"""Chunks in PostgreSQL: added, deleted with their vectors, fetched with their text.

Every function runs in the caller's session; none commits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ragkit.store.connection import columns
from ragkit.types import Hit, NewDocument, Span

if TYPE_CHECKING:
    from ragkit.store.session import Session

# The text of chunk `c` of document `d`. PostgreSQL counts characters from the beginning: at the end
# of 700,000 of them that took 9 ms, of Chinese 11 ms. The text as bytes took 0.4 and 2.1
# ms wherever the chunk is (least of 100 tries), which pays from about an eighth on, or half of a
# Chinese text.
TEXT = """CASE WHEN c.start_byte IS NULL
            OR c.start_char < d.chars / CASE c.start_byte WHEN c.start_char THEN 8 ELSE 2 END
        THEN substr(d.text, c.start_char + 1, c.end_char - c.start_char)
        ELSE convert_from(substring(convert_to(d.text, 'UTF8')
            FROM c.start_byte + 1 FOR c.end_byte - c.start_byte), 'UTF8') END"""
# The text over it, such as a table's header row.
LEAD = """CASE WHEN c.lead_start IS NULL THEN ''
        ELSE substr(d.text, c.lead_start + 1, c.lead_end - c.lead_start) END"""
# visible_chunk has the columns of both.
_VISIBLE_TEXT = TEXT.replace("d.", "c.")
_VISIBLE_LEAD = LEAD.replace("d.", "c.")
HITS = f"""
    SELECT c.id, c.document_id, c.uri, c.title, c.page, c.start_char, c.end_char, c.headings,
        {_VISIBLE_TEXT}, c.version, c.metadata, {_VISIBLE_LEAD}, c.parent_start, c.parent_end
    FROM visible_chunk c WHERE c.tenant = %(tenant)s AND c.id = ANY(%(chunks)s)
"""  # noqa: S608  built from constants only
_NUMBERS = "SELECT nextval('chunk_id') FROM generate_series(1, %(count)s)"
_DELETE = "DELETE FROM chunk WHERE tenant = %(tenant)s AND document_id = ANY(%(documents)s)"


def copy_chunks(
    session: Session,
    collection: int,
    documents: Sequence[tuple[int, NewDocument]],
    terms: Sequence[int],
) -> list[int]:
    """Add the chunks of documents, each with its number; return their ids, in that order.

    `terms` counts each one's analyser terms.
    """
    import numpy as np

    listed = [chunk for _, document in documents for chunk in document.chunks]
    ids = new_chunk_ids(session, len(listed))
    owners = np.repeat(
        [number for number, _ in documents], [len(document.chunks) for _, document in documents]
    )
    spans = [span for _, document in documents for span in byte_spans(document)]
    table_columns: dict[str, columns.Column] = {
        "id": columns.Integers("int8", np.asarray(ids, np.int64)),
        "document_id": columns.Integers("int8", owners),
        "ordinal": _integers(chunk.ordinal for chunk in listed),
        "start_char": _integers(chunk.start for chunk in listed),
        "end_char": _integers(chunk.end for chunk in listed),
        "page": _optional([chunk.page for chunk in listed]),
        "headings": columns.Paths([chunk.headings for chunk in listed]),
        "tokens": _integers(chunk.tokens for chunk in listed),
        "terms": _integers(terms),
        "start_byte": _integers(start for start, _ in spans),
        "end_byte": _integers(end for _, end in spans),
    }
    for name, ranges in (
        ("lead", [chunk.lead for chunk in listed]),
        ("parent", [chunk.parent for chunk in listed]),
    ):
        table_columns[f"{name}_start"] = _optional(
            [span.start if span else None for span in ranges]
        )
        table_columns[f"{name}_end"] = _optional([span.end if span else None for span in ranges])
    columns.add_rows(session, collection, "chunk", table_columns, len(listed))
    return ids


def _integers(values: Iterable[int]) -> columns.Integers:
    import numpy as np

    return columns.Integers("int4", np.array(list(values), np.int32))


def _optional(values: Sequence[int | None]) -> columns.Column:
    if all(value is None for value in values):
        return columns.Same("int4", None)
    return columns.Optional(values)


def new_chunk_ids(session: Session, count: int) -> list[int]:
    """Draw numbers for new chunks, ascending."""
    return [int(row[0]) for row in session.execute(_NUMBERS, {"count": count})]


def delete_chunks(session: Session, documents: Sequence[int]) -> None:
    """Delete documents' chunks and, by cascade, their vectors in every space."""
    session.execute(_DELETE, {"documents": list(documents)})


def hits(session: Session, chunks: Sequence[int]) -> list[Hit]:
    """Fetch visible chunks with their text, in the given order; others are left out."""
    rows = session.execute(HITS, {"chunks": list(chunks)}, prepare=True)
    by_id = {row[0]: row for row in rows}
    return [_hit(*by_id[chunk]) for chunk in chunks if chunk in by_id]


def byte_spans(document: NewDocument) -> list[tuple[int, int]]:
    """Find where each chunk begins and ends in the text's UTF-8.

    >>> from ragkit.types import Chunk
    >>> byte_spans(NewDocument("a", "", "", "航空 ab", (Chunk(0, 0, 2, 1), Chunk(1, 3, 5, 1))))
    [(0, 6), (7, 9)]
    """
    text, chunks = document.text, document.chunks
    if text.isascii():
        return [(chunk.start, chunk.end) for chunk in chunks]
    offsets = sorted({offset for chunk in chunks for offset in (chunk.start, chunk.end)})
    byte_offsets, previous, count = {}, 0, 0
    for offset in offsets:
        count += len(text[previous:offset].encode("utf-8", "surrogatepass"))
        byte_offsets[offset] = count
        previous = offset
    return [(byte_offsets[chunk.start], byte_offsets[chunk.end]) for chunk in chunks]


def span(start: int | None, end: int | None) -> Span | None:
    """Return a span of its two columns, which are NULL for none."""
    return None if start is None or end is None else Span(start, end)


def _hit(
    chunk: int,
    document: int,
    uri: str,
    title: str,
    page: int | None,
    start: int,
    end: int,
    headings: list[str],
    text: str,
    version: int,
    metadata: Mapping[str, Any],
    lead: str,
    parent_start: int | None,
    parent_end: int | None,
) -> Hit:
    return Hit(
        document=document,
        chunk=chunk,
        uri=uri,
        title=title,
        page=page,
        start=start,
        end=end,
        text=text,
        score=0.0,
        headings=tuple(headings),
        version=version,
        metadata=metadata,
        lead=lead,
        parent=span(parent_start, parent_end),
    )
