"""The rows of a space's table: written, and looked up by chunk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from psycopg.adapt import PyFormat
from psycopg.sql import SQL, Placeholder

from ragkit.store.connection import columns
from ragkit.store.vectors.layout import Table
from ragkit.store.vectors.packed import packed
from ragkit.store.vectors.spaces import find_table
from ragkit.types import EmbeddingSpace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragkit.contracts import Vectors
    from ragkit.store.session import Session

_HEAD_BYTES: Final = 4  # before the numbers of a vector
_DOCUMENTS: Final = """
    SELECT id, document_id FROM chunk WHERE tenant = %(tenant)s AND id = ANY(%(chunks)s)
"""
_VECTORS: Final = SQL("""
    SELECT chunk_id, embedding::vector::real[] FROM {}
    WHERE tenant = %(tenant)s AND chunk_id = ANY(%(chunks)s)
""")
QUERY: Final = Placeholder("vector", PyFormat.BINARY)


def copy_vectors(
    session: Session,
    space_id: int,
    collection: int,
    chunks: Sequence[int],
    vectors: Vectors,
    documents: Sequence[int] | None = None,
) -> None:
    """Add one vector per chunk, which is stored already; `vectors`: (len(chunks), dimension).

    `documents` has each chunk's document, where the caller has it. Raises UsageError for values
    that half precision cannot hold, and for a zero vector.
    """
    import numpy as np

    if not len(chunks):
        return
    table = find_table(session.cursor, space_id)
    assert table is not None
    if documents is None:
        owners = dict(session.execute(_DOCUMENTS, {"chunks": list(chunks)}).fetchall())
        documents = [owners[chunk] for chunk in chunks]
    table_columns = {
        "chunk_id": columns.Integers("int8", np.asarray(chunks, np.int64)),
        "document_id": columns.Integers("int8", np.asarray(documents, np.int64)),
        "generation": columns.Same("int4", table.written),
        "embedding": columns.Vectors(table.stored, _as_stored(table, vectors)),
    }
    columns.add_rows(session, collection, table.identifier, table_columns, len(chunks))


def _as_stored(table: Table, vectors: Vectors) -> NDArray[np.floating[Any]]:
    """Return vectors in the numbers that the table stores."""
    import numpy as np

    form = ">f4" if table.stored == "vector" else ">f2"
    data = np.frombuffer(b"".join(packed(table, vectors)), np.uint8)
    return data.reshape(len(vectors), -1)[:, _HEAD_BYTES:].copy().view(form)


def vectors(session: Session, space: EmbeddingSpace, chunks: Sequence[int]) -> dict[int, Vectors]:
    """Fetch the vectors of these chunks, each of shape (dimension,), float32."""
    import numpy as np

    table = find_table(session.cursor, space)
    if table is None:
        return {}
    statement = _VECTORS.format(table.identifier)
    rows = session.execute(statement, {"chunks": list(chunks)}).fetchall()
    return {int(chunk): np.array(values, np.float32) for chunk, values in rows}
