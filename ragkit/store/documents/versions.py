"""Old versions of documents: kept when a newer one is stored, listed, restored, dropped.

Each is a document of its own, in a collection beside that of its document which no list shows and
which is made when it is first needed. Searching them is in `ragkit.store.as_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from psycopg.errors import SerializationFailure
from psycopg.sql import SQL, Identifier

from ragkit.errors import NotFoundError, UsageError
from ragkit.store import vectors
from ragkit.store.documents import documents, metadata
from ragkit.store.documents.chunks import LEAD, TEXT, delete_chunks, new_chunk_ids
from ragkit.store.words import postings
from ragkit.text.passage import indexed_text
from ragkit.text.terms import Terms

if TYPE_CHECKING:
    from ragkit.store.session import Session

Analyse = Callable[[str], Sequence[str]]

_FIND_COLLECTION: Final = """
    SELECT id FROM collection WHERE tenant = %(tenant)s AND versions_of = %(collection)s
"""
# Its name can be given to no collection; `_LOCK_SPACE` keeps its sharing from changing meanwhile.
_ADD_COLLECTION: Final = """
    INSERT INTO collection (tenant, name, settings, owner, readers, versions_of)
    SELECT tenant, E'\\x01' || id, settings, owner, readers, id FROM collection
    WHERE tenant = %(tenant)s AND id = %(collection)s
    ON CONFLICT DO NOTHING
"""
# Documents about to be replaced become old versions, until the moment that the newer one gets as
# its own (see PUT_DOCUMENT). An upload replaces the same documents there. They are locked first, by
# a statement of its own, and their numbers and the moment are the coordinator's: on a cluster an
# INSERT from a query locks no rows, draws no numbers, and the clock is another node's.
_REPLACED: Final = """
    WHERE d.tenant = %(tenant)s AND d.collection_id = %(collection)s
        AND (d.uri_key = ANY(%(keys)s::bytea[]) OR d.id = %(document)s::bigint)
        AND (d.source_id < %(source)s OR d.source_id IS NULL OR %(source)s::bigint IS NULL)
        AND may_read(d.owner, d.readers, %(principals)s::text[])
    ORDER BY d.id
"""
_LOCK_REPLACED: Final = f"SELECT d.id FROM document d {_REPLACED} FOR UPDATE"  # noqa: S608
_NUMBERS: Final = """
    SELECT now(), ARRAY(SELECT nextval(pg_get_serial_sequence('document', 'id'))
        FROM generate_series(1, %(count)s))
"""
_KEEP: Final = """
    INSERT INTO document (tenant, id, collection_id, uri, uri_key, content_hash, fingerprint, title,
        language, media_type, metadata, page_starts, page_numbers, page_labels, version, chars,
        text, signature, bytes, created_at, updated_at, owner, readers, version_of, valid_to)
    OVERRIDING SYSTEM VALUE
    SELECT d.tenant, n.id, c.id, d.uri, sha256(d.uri_key || int8send(d.id) || int4send(d.version)),
        d.content_hash, d.fingerprint, d.title, d.language, d.media_type, d.metadata,
        d.page_starts, d.page_numbers, d.page_labels, d.version, d.chars, d.text, d.signature,
        d.bytes, d.created_at, d.updated_at, d.owner, d.readers, d.id,
        greatest(%(now)s::timestamptz, ragkit_next_moment(d.updated_at))
    FROM document d JOIN collection c ON c.tenant = d.tenant AND c.versions_of = d.collection_id
    JOIN unnest(%(replaced)s::bigint[], %(numbers)s::bigint[]) AS n (replaced, id)
        ON n.replaced = d.id
    WHERE d.tenant = %(tenant)s
"""
_JUST_KEPT: Final = """
    SELECT v.version_of, v.id FROM document v JOIN document d
        ON d.tenant = v.tenant AND d.id = v.version_of AND v.version = d.version - 1
            AND v.valid_to = d.updated_at
    WHERE v.tenant = %(tenant)s AND v.version_of = ANY(%(documents)s)
"""
# Both sides of a join say which rows are meant: of a tenant that is new to the planner it expects
# so few that it would go through all of them again and again.
_MOVE_CHUNKS: Final = """
    UPDATE chunk c SET collection_id = v.collection_id, document_id = v.id FROM document v
    WHERE c.tenant = %(tenant)s AND v.tenant = %(tenant)s AND c.document_id = v.version_of
        AND v.id = ANY(%(versions)s) AND c.document_id = ANY(%(documents)s)
"""
_TEXTS: Final = f"""
    SELECT c.id, {TEXT}, {LEAD}
    FROM chunk c JOIN document d ON d.tenant = c.tenant AND d.id = c.document_id
    WHERE c.tenant = %(tenant)s AND c.document_id = ANY(%(documents)s)
        AND d.tenant = %(tenant)s AND d.id = ANY(%(documents)s) ORDER BY c.id
"""  # noqa: S608  built from constants only
# By document and without a join, whose plan goes wrong where the planner knows nothing of a tenant.
_MOVE_VECTORS: Final = SQL("""
    UPDATE {} SET collection_id = %(versions)s, document_id = %(version)s,
        generation = %(generation)s
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s AND document_id = %(document)s
""")
_SPACES: Final = """
    SELECT kept FROM collection_space
    WHERE tenant = %(tenant)s AND collection_id = %(collection)s AND kept IS NOT NULL ORDER BY kept
"""
_BEYOND: Final = """
    SELECT id FROM (
        SELECT id, row_number() OVER (PARTITION BY version_of ORDER BY version DESC) AS n
        FROM document WHERE tenant = %(tenant)s AND version_of = ANY(%(documents)s)) AS v
    WHERE n > %(count)s
"""
_DELETE: Final = "DELETE FROM document WHERE tenant = %(tenant)s AND id = ANY(%(documents)s)"
_VERSIONS: Final = """
    SELECT d.version, d.id, d.updated_at, d.valid_to, d.title, d.chars FROM visible_document d
    JOIN visible_document asked ON asked.tenant = %(tenant)s AND asked.id = %(document)s
    WHERE d.tenant = %(tenant)s AND (d.id = coalesce(asked.version_of, asked.id)
            OR d.version_of = coalesce(asked.version_of, asked.id))
    ORDER BY d.version DESC
"""
_FIND: Final = """
    SELECT id FROM document
    WHERE tenant = %(tenant)s AND version_of = %(document)s AND version = %(version)s
"""
_WITHOUT_VECTOR: Final = SQL("""
    SELECT count(*) FROM chunk c WHERE c.tenant = %(tenant)s AND c.document_id = %(document)s
        AND NOT EXISTS (SELECT FROM {} v WHERE v.tenant = c.tenant AND v.chunk_id = c.id)
""")
_RESTORE: Final = """
    UPDATE document d SET content_hash = v.content_hash, fingerprint = v.fingerprint,
        title = v.title, language = v.language, media_type = v.media_type,
        metadata = v.metadata, page_starts = v.page_starts, page_numbers = v.page_numbers,
        page_labels = v.page_labels, signature = v.signature, chars = v.chars,
        text = v.text, bytes = v.bytes, source_id = NULL, version = d.version + 1,
        updated_at = greatest(now(), ragkit_next_moment(d.updated_at))
    FROM document v WHERE d.tenant = %(tenant)s AND d.id = %(document)s
        AND v.tenant = %(tenant)s AND v.id = %(version)s
    RETURNING d.metadata
"""
_SOURCE: Final = """
    SELECT source_id FROM document WHERE tenant = %(tenant)s AND id = %(document)s
"""
_LOCK_SPACE: Final = """
    SELECT space_id FROM collection
    WHERE tenant = %(tenant)s AND id = %(collection)s FOR SHARE
"""
_COPY_CHUNKS: Final = """
    INSERT INTO chunk (tenant, id, collection_id, document_id, ordinal, start_char, end_char, page,
        headings, tokens, terms, lead_start, lead_end, parent_start, parent_end,
        start_byte, end_byte)
    SELECT c.tenant, n.id, %(collection)s, %(document)s, c.ordinal, c.start_char, c.end_char,
        c.page, c.headings, c.tokens, c.terms, c.lead_start, c.lead_end, c.parent_start,
        c.parent_end, c.start_byte, c.end_byte
    FROM chunk c JOIN unnest(%(from)s::bigint[], %(to)s::bigint[]) AS n (was, id) ON n.was = c.id
    WHERE c.tenant = %(tenant)s
"""
_COPY_VECTORS: Final = SQL("""
    INSERT INTO {0} (tenant, chunk_id, collection_id, document_id, generation, embedding)
    SELECT v.tenant, n.id, %(collection)s, %(document)s, %(generation)s, v.embedding
    FROM {0} v JOIN unnest(%(from)s::bigint[], %(to)s::bigint[]) AS n (was, id)
        ON n.was = v.chunk_id
    WHERE v.tenant = %(tenant)s
""")


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a document, as a document of the number `id`; it was current until `to`.

    `to` is None of the current one.
    """

    version: int
    id: int
    since: datetime
    to: datetime | None
    title: str
    chars: int


def collection_of_versions(session: Session, collection: int) -> int | None:
    """Return the collection of a collection's old versions, None where there never was one."""
    row = session.row(_FIND_COLLECTION, {"collection": collection})
    return None if row is None else int(row[0])


def add_collection_of_versions(session: Session, collection: int) -> None:
    """Make the collection of a collection's old versions; for a session of its own."""
    if collection_of_versions(session, collection) is None:
        session.execute(_LOCK_SPACE, {"collection": collection})
        session.execute(_ADD_COLLECTION, {"collection": collection})


def keep(
    session: Session,
    collection: int,
    keys: Sequence[bytes],
    *,
    document: int | None = None,
    source: int | None = None,
    principals: Sequence[str] | None = None,
) -> None:
    """Keep the documents of these keys, or this one, as old versions; locks their rows.

    To be called before `PUT_DOCUMENT` replaces them, for the same upload and sender; `move` takes
    their chunks over.
    """
    values = {"collection": collection, "keys": list(keys), "document": document}
    sender = None if principals is None else list(principals)
    values |= {"source": source, "principals": sender}
    replaced = [number for (number,) in session.execute(_LOCK_REPLACED, values).fetchall()]
    if replaced:
        now, numbers = session.execute(_NUMBERS, {"count": len(replaced)}).fetchall()[0]
        session.execute(_KEEP, {"replaced": replaced, "numbers": numbers, "now": now})


def move(
    session: Session,
    collection: int,
    replaced: Sequence[int],
    analyse: Analyse,
    *,
    keeps: bool,
) -> None:
    """Move the chunks of replaced documents to the versions that `keep` made; delete the others.

    Vectors go with them in every space, and their words are indexed beside. To be called after the
    documents' rows were changed, before their new chunks are stored. With `keeps` every document
    has a version: one that was stored by another transaction after `keep` has none, and the
    session has to be tried again.
    """
    postings.bury(session, replaced)
    documents_ = {"documents": list(replaced)}
    kept_versions = dict(session.execute(_JUST_KEPT, documents_).fetchall())
    if keeps and len(kept_versions) < len(replaced):
        raise SerializationFailure("a document was stored by another transaction meanwhile")
    delete_chunks(session, [number for number in replaced if number not in kept_versions])
    if not kept_versions:
        return
    numbers = list(kept_versions.values())
    session.execute(_MOVE_CHUNKS, {"versions": numbers, "documents": list(kept_versions)})
    texts = session.execute(_TEXTS, {"documents": numbers}).fetchall()
    version_collection = collection_of_versions(session, collection)
    assert version_collection is not None, "a version was kept in it"
    for table in _tables(session, collection):
        values = {
            "collection": collection,
            "versions": version_collection,
            "generation": table.written,
        }
        rows = [
            {**values, "document": document, "version": version}
            for document, version in kept_versions.items()
        ]
        session.execute_many(_MOVE_VECTORS.format(Identifier(table.name)), rows)
    terms = Terms.of([analyse(indexed_text(text, lead)) for _, text, lead in texts])
    chunks = [int(row[0]) for row in texts]
    postings.add_segment(session, version_collection, chunks, terms)


def drop_beyond(session: Session, documents: Sequence[int], count: int) -> None:
    """Delete the old versions of documents, except the latest `count` of each."""
    rows = session.execute(_BEYOND, {"documents": list(documents), "count": count}).fetchall()
    numbers = [int(row[0]) for row in rows]
    if numbers:
        postings.bury(session, numbers)
        session.execute(_DELETE, {"documents": numbers})


def versions(session: Session, document: int) -> list[Version]:
    """List the versions of a document, or of the document of an old version; the current first."""
    return [Version(*row) for row in session.execute(_VERSIONS, {"document": document})]


def restore(
    session: Session, collection: int, document: int, version: int, *, analyse: Analyse
) -> None:
    """Make an old version of a locked document its current one again, as a new version.

    The one that was current is kept. Raises NotFoundError for a version that is not kept,
    UsageError for one without vectors in the space that the collection is searched in.
    """
    row = session.row(_FIND, {"document": document, "version": version})
    if row is None:
        raise NotFoundError(
            f"Document {document} has no old version {version}: `ragkit documents versions"
            f" {document}` shows those that were kept."
        )
    number = int(row[0])
    _check_vectors(session, collection, number, version)
    keep(session, collection, [], document=document)
    values = {"document": document, "version": number}
    source = session.value(_SOURCE, values)
    restored_metadata = session.value(_RESTORE, values)
    if source is not None:
        documents.drop_source(session, source)  # what was uploaded is another text
    metadata.note(session, collection, [document], [restored_metadata])
    move(session, collection, [document], analyse, keeps=True)
    _copy_chunks(session, collection, document, number, analyse)


def _copy_chunks(
    session: Session, collection: int, document: int, version: int, analyse: Analyse
) -> None:
    """Give a document the chunks, vectors and words of an old version of it."""
    texts = session.execute(_TEXTS, {"documents": [version]}).fetchall()
    chunks = new_chunk_ids(session, len(texts))
    values: Mapping[str, object] = {
        "collection": collection,
        "document": document,
        "from": [row[0] for row in texts],
        "to": chunks,
    }
    session.execute(_COPY_CHUNKS, values)
    for table in _tables(session, collection):
        statement = _COPY_VECTORS.format(Identifier(table.name))
        session.execute(statement, {**values, "generation": table.written})
    terms = Terms.of([analyse(indexed_text(text, lead)) for _, text, lead in texts])
    postings.add_segment(session, collection, chunks, terms)


def _check_vectors(session: Session, collection: int, document: int, version: int) -> None:
    """Keep the collection in its space, and see that an old version has its vectors there."""
    space = session.value(_LOCK_SPACE, {"collection": collection})
    if space is not None:
        table = Identifier(vectors.table_name(space))
        if not session.value(_WITHOUT_VECTOR.format(table), {"document": document}):
            return
    raise UsageError(
        f"Version {version} was embedded with another model than the collection has now: ingest"
        " its file again instead."
    )


def _tables(session: Session, collection: int) -> list[vectors.Table]:
    """Find the tables of the spaces that a collection has vectors in."""
    rows = session.execute(_SPACES, {"collection": collection}).fetchall()
    tables = (vectors.find_table(session.cursor, int(number)) for (number,) in rows)
    return [table for table in tables if table is not None]
