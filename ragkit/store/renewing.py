"""A collection's words indexed anew, by the analyser that has taken the place of its own.

Terms are made of the texts in the database; nothing is parsed or embedded. All of it is one
transaction: a search sees the words of one analyser, and so does a writer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from psycopg.types.json import Jsonb

from ragkit.store import merging, postings, versions
from ragkit.store.chunks import LEAD, TEXT
from ragkit.store.rows import first_value
from ragkit.text.analysers import name_from, newest, terms_by
from ragkit.text.passage import indexed_text
from ragkit.text.variants import folded_characters

if TYPE_CHECKING:
    from psycopg import Connection, Cursor

_BATCH_CHUNKS: Final = 5_000  # arbitrary; a batch becomes a segment
_LOCK: Final = "SELECT settings FROM collection WHERE tenant = %s AND id = %s FOR UPDATE"
# Without one of these characters the old analyser makes the same terms as the new one.
_DIFFERS: Final = """
    SELECT EXISTS (SELECT FROM lexical_posting
        WHERE tenant = %(tenant)s AND collection_id = %(id)s AND term ~ %(characters)s)
"""
_DELETE: Final = (
    "DELETE FROM lexical_posting WHERE tenant = %s AND collection_id = %s",
    "DELETE FROM lexical_segment WHERE tenant = %s AND collection_id = %s",
    "DELETE FROM lexical_tombstone WHERE tenant = %s AND collection_id = %s",
)
_TEXTS: Final = f"""
    SELECT c.id, {TEXT}, {LEAD}
    FROM chunk c JOIN document d ON d.tenant = c.tenant AND d.id = c.document_id
    WHERE c.tenant = %(tenant)s AND c.collection_id = %(id)s
        AND d.tenant = %(tenant)s AND d.collection_id = %(id)s ORDER BY c.id
"""  # noqa: S608  built from constants only
_COUNT: Final = """
    UPDATE chunk c SET terms = n.terms
    FROM unnest(%s::bigint[], %s::int[]) AS n (id, terms)
    WHERE c.tenant = %s AND c.id = n.id AND c.terms <> n.terms
"""
_NOTE: Final = "UPDATE collection SET settings = settings || %s WHERE tenant = %s AND id = %s"


def renew(conn: Connection[Any], cursor: Cursor[Any], tenant: str, collection: int) -> bool:
    """Index the words of a collection and of its old versions anew; tell whether it had to be done.

    To be called in a transaction of its own, which keeps writers to the collection waiting.
    """
    merging.lock(cursor, tenant, collection)  # before rows: a merge locks in this order
    row = cursor.execute(_LOCK, (tenant, collection)).fetchone()
    if row is None or newest(name_from(row[0])) == name_from(row[0]):
        return False
    beside = versions.beside(cursor, tenant, collection)
    _renew(conn, cursor, tenant, collection, row[0])
    if beside is not None:
        merging.lock(cursor, tenant, beside)
        _renew(conn, cursor, tenant, beside, row[0])
    return True


def _renew(
    conn: Connection[Any],
    cursor: Cursor[Any],
    tenant: str,
    collection: int,
    settings: Mapping[str, Any],
) -> None:
    name = newest(name_from(settings))
    characters = f"[{folded_characters()}]"
    values = {"tenant": tenant, "id": collection, "characters": characters}
    if first_value(cursor, _DIFFERS, values):
        for statement in _DELETE:
            cursor.execute(statement, (tenant, collection))
        with conn.cursor("renew") as texts:  # streamed: they may outgrow memory
            texts.execute(_TEXTS, values)
            while rows := texts.fetchmany(_BATCH_CHUNKS):
                _add(cursor, tenant, collection, rows, name=name)
    cursor.execute(_NOTE, (Jsonb({"analyser": name}), tenant, collection))


def _add(
    cursor: Cursor[Any],
    tenant: str,
    collection: int,
    rows: Sequence[tuple[int, str, str]],
    *,
    name: str,
) -> None:
    """Index the words of some chunks; `rows` have their ids, texts and what stands over these."""
    chunks = [int(chunk) for chunk, _, _ in rows]
    terms = terms_by(name)([indexed_text(text, lead) for _, text, lead in rows])
    postings.add_segment(cursor, tenant, collection, chunks, terms)
    cursor.execute(_COUNT, (chunks, terms.lengths.tolist(), tenant))
