"""BM25 by an extension of the server instead of ragkit's own postings: pg_textsearch or pg_search.

Chunks' terms, made by the collection's analyser, are kept as text in one table that the extension
indexes. Its statistics are the table's: of all collections and tenants that use it together.
Written after the extensions' documentation and tested against a stand-in only:
https://github.com/timescale/pg_textsearch (1.0), https://docs.paradedb.com (pg_search 0.20 on).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, LiteralString

from psycopg import Connection, Cursor

from ragkit.errors import SettingsError
from ragkit.store.loading import loading

LexicalIndex = Literal["ragkit", "pg_textsearch", "pg_search"]

_COLUMNS: Final = {"tenant": "text", "collection_id": "int8", "chunk_id": "int8", "words": "text"}
_THERE: Final = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = %s)"
_INDEXED: Final = "SELECT to_regclass(%s) IS NOT NULL"


@dataclass(frozen=True, slots=True)
class Extension:
    """How one extension indexes the table lexical_text and is asked for the best rows."""

    name: str
    index: str
    create: LiteralString
    best: LiteralString  # of all chunks: at most %(k)s rows of chunk and score, best first
    scores: LiteralString  # of the chunks %(chunks)s
    as_array: bool  # terms as an array, or joined by spaces


EXTENSIONS: Final = {
    # Scores are negated, so that an ascending index scan yields the best first. `simple` takes
    # terms apart at white space and folds their case only; they are folded already.
    "pg_textsearch": Extension(
        name="pg_textsearch",
        index="lexical_text_textsearch",
        create="CREATE INDEX lexical_text_textsearch ON lexical_text USING bm25 (words)"
        " WITH (text_config = 'simple')",
        best="""
            SELECT chunk_id, -(words <@> to_bm25query(%(terms)s, 'lexical_text_textsearch'))
            FROM lexical_text WHERE tenant = %(tenant)s AND collection_id = %(collection)s
            ORDER BY words <@> to_bm25query(%(terms)s, 'lexical_text_textsearch') LIMIT %(k)s
        """,
        scores="""
            SELECT chunk_id, -(words <@> to_bm25query(%(terms)s, 'lexical_text_textsearch'))
            FROM lexical_text WHERE tenant = %(tenant)s AND chunk_id = ANY(%(chunks)s)
        """,
        as_array=False,
    ),
    # An array's elements are taken as terms as they are.
    "pg_search": Extension(
        name="pg_search",
        index="lexical_text_search",
        create="CREATE INDEX lexical_text_search ON lexical_text USING bm25"
        " (chunk_id, (tenant::pdb.literal), collection_id, (words::pdb.whitespace))"
        " WITH (key_field = 'chunk_id')",
        best="""
            SELECT chunk_id, pdb.score(chunk_id) AS score FROM lexical_text
            WHERE tenant = %(tenant)s AND collection_id = %(collection)s
                AND words ||| %(terms)s::text[]
            ORDER BY score DESC LIMIT %(k)s
        """,
        scores="""
            SELECT chunk_id, pdb.score(chunk_id) FROM lexical_text
            WHERE tenant = %(tenant)s AND chunk_id = ANY(%(chunks)s)
                AND words ||| %(terms)s::text[]
        """,
        as_array=True,
    ),
}


def require(cursor: Cursor[Any], name: str) -> Extension:
    """Return an extension that the database has. Raises SettingsError."""
    extension = EXTENSIONS[name]
    row = cursor.execute(_THERE, (name,)).fetchone()
    if row is None or not row[0]:
        raise SettingsError(
            f"RAGKIT_LEXICAL_INDEX is {name}, but the database has no such extension: have its"
            f" administrator run CREATE EXTENSION {name}, or set it to ragkit."
        )
    return extension


def ensure_index(conn: Connection[Any], name: str) -> None:
    """Make the extension's index where it is missing; the connection is the tables' owner's.

    Raises SettingsError without the extension.
    """
    with conn.cursor() as cursor:
        extension = require(cursor, name)
        row = cursor.execute(_INDEXED, (extension.index,)).fetchone()
        if row is None or not row[0]:
            cursor.execute(extension.create)


def add(
    cursor: Cursor[Any],
    owner: tuple[str, int],
    chunks: Sequence[int],
    terms: Sequence[Sequence[str]],
) -> None:
    """Add chunks' terms to the table; they go with their chunks."""
    with loading(cursor, "lexical_text", _COLUMNS) as load:
        for chunk, of_chunk in zip(chunks, terms, strict=True):
            load.write_row((*owner, chunk, " ".join(of_chunk)))


def best(
    cursor: Cursor[Any], owner: tuple[str, int], name: str, terms: Sequence[str], k: int
) -> list[tuple[int, float]]:
    """Return the k best chunks of a collection that have one of the terms, best first."""
    extension = EXTENSIONS[name]
    rows = cursor.execute(extension.best, {**_values(extension, owner, terms), "k": k})
    found = [(int(chunk), float(score)) for chunk, score in rows]
    return sorted((pair for pair in found if pair[1] > 0), key=lambda pair: (-pair[1], pair[0]))


def scores(
    cursor: Cursor[Any],
    owner: tuple[str, int],
    name: str,
    terms: Sequence[str],
    chunks: Sequence[int],
) -> Mapping[int, float]:
    """Score these chunks; one that has none of the terms is absent."""
    extension = EXTENSIONS[name]
    values = {**_values(extension, owner, terms), "chunks": list(chunks)}
    rows = cursor.execute(extension.scores, values)
    return {int(chunk): float(score) for chunk, score in rows if score > 0}


def _values(
    extension: Extension, owner: tuple[str, int], terms: Sequence[str]
) -> dict[str, object]:
    asked = list(terms) if extension.as_array else " ".join(terms)
    return {"tenant": owner[0], "collection": owner[1], "terms": asked}
