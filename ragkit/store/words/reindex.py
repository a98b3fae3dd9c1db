"""Index a collection's words anew, by the successor of its analyser.

Terms are made of the stored texts; nothing is parsed or embedded. All of it is one transaction: a
search, and a writer, sees the words of one analyser.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from psycopg.types.json import Jsonb

from ragkit.store.documents import versions
from ragkit.store.documents.chunks import LEAD, TEXT
from ragkit.store.words import merge, postings
from ragkit.text.analysers import name_from, newest, terms_by
from ragkit.text.passage import indexed_text
from ragkit.text.variants import folded_characters

if TYPE_CHECKING:
    from ragkit.store.session import Session

_BATCH_CHUNKS: Final = 5_000  # arbitrary; a batch becomes a segment
_LOCK: Final = """
    SELECT settings FROM collection
    WHERE tenant = %(tenant)s AND id = %(collection)s FOR UPDATE
"""
# Without one of these characters the previous analyser makes the same terms as its successor.
_DIFFERS: Final = """
    SELECT EXISTS (SELECT FROM lexical_posting
        WHERE tenant = %(tenant)s AND collection_id = %(collection)s AND term ~ %(characters)s)
"""
_DELETE: Final = (
    "DELETE FROM lexical_posting WHERE tenant = %(tenant)s AND collection_id = %(collection)s",
    "DELETE FROM lexical_segment WHERE tenant = %(tenant)s AND collection_id = %(collection)s",
    "DELETE FROM lexical_tombstone WHERE tenant = %(tenant)s AND collection_id = %(collection)s",
)
_TEXTS: Final = f"""
    SELECT c.id, {TEXT}, {LEAD}
    FROM chunk c JOIN document d ON d.tenant = c.tenant AND d.id = c.document_id
    WHERE c.tenant = %(tenant)s AND c.collection_id = %(collection)s
        AND d.tenant = %(tenant)s AND d.collection_id = %(collection)s ORDER BY c.id
"""  # noqa: S608  built from constants only
_COUNT: Final = """
    UPDATE chunk c SET terms = n.terms
    FROM unnest(%(chunks)s::bigint[], %(lengths)s::int[]) AS n (id, terms)
    WHERE c.tenant = %(tenant)s AND c.id = n.id AND c.terms <> n.terms
"""
_NOTE: Final = """
    UPDATE collection SET settings = settings || %(settings)s
    WHERE tenant = %(tenant)s AND id = %(collection)s
"""


def renew(session: Session, collection: int) -> bool:
    """Index the words of a collection and of its old versions anew; tell whether it was needed.

    To be called in a session of its own, which keeps writers to the collection waiting.
    """
    merge.lock(session, collection)  # before rows: a merge locks in this order
    row = session.row(_LOCK, {"collection": collection})
    if row is None or newest(name_from(row[0])) == name_from(row[0]):
        return False
    version_collection = versions.collection_of_versions(session, collection)
    _renew(session, collection, row[0])
    if version_collection is not None:
        merge.lock(session, version_collection)
        _renew(session, version_collection, row[0])
    return True


def _renew(session: Session, collection: int, settings: Mapping[str, Any]) -> None:
    name = newest(name_from(settings))
    values = {"collection": collection, "characters": f"[{folded_characters()}]"}
    if session.value(_DIFFERS, values):
        for statement in _DELETE:
            session.execute(statement, values)
        # Streamed: the texts may outgrow memory.
        with session.cursor.connection.cursor("renew") as texts:
            texts.execute(_TEXTS, {**values, "tenant": session.tenant})
            while rows := texts.fetchmany(_BATCH_CHUNKS):
                _add(session, collection, rows, name)
    session.execute(_NOTE, {**values, "settings": Jsonb({"analyser": name})})


def _add(
    session: Session, collection: int, rows: Sequence[tuple[int, str, str]], name: str
) -> None:
    """Index the words of some chunks; `rows` have their ids, texts and leads."""
    chunks = [int(chunk) for chunk, _, _ in rows]
    terms = terms_by(name)([indexed_text(text, lead) for _, text, lead in rows])
    postings.add_segment(session, collection, chunks, terms)
    session.execute(_COUNT, {"chunks": chunks, "lengths": terms.lengths.tolist()})
