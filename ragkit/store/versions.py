"""Old versions of documents: moved aside when a newer one is stored, listed, taken back, dropped.

They are documents in a collection beside their own (migration 0014), which is made when it is first
needed. It knows nothing of searching them: see `ragkit.store.as_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from psycopg.sql import SQL, Identifier

from ragkit.errors import NotFoundError, UsageError
from ragkit.store import documents, metadata, postings, vectors
from ragkit.store.access import listed
from ragkit.store.chunks import LEAD, TEXT, delete_chunks
from ragkit.store.where import Readers
from ragkit.text.passage import indexed_text
from ragkit.text.terms import Terms

if TYPE_CHECKING:
    from psycopg import Cursor

Analyse = Callable[[str], Sequence[str]]

_BESIDE: Final = "SELECT id FROM collection WHERE tenant = %s AND versions_of = %s"
# Its name can be given to no collection. The lock keeps its sharing from changing meanwhile.
_MAKE: Final = """
    INSERT INTO collection (tenant, name, settings, owner, readers, versions_of)
    SELECT tenant, E'\\x01' || id, settings, owner, readers, id FROM collection
    WHERE tenant = %s AND id = %s FOR SHARE
    ON CONFLICT DO NOTHING
"""
_KEEP: Final = "SELECT set_config('ragkit.keep_versions', 'on', true)"
_JUST_KEPT: Final = """
    SELECT old.version_of, old.id FROM document old JOIN document d
        ON d.tenant = old.tenant AND d.id = old.version_of AND old.version = d.version - 1
            AND old.valid_to = d.updated_at
    WHERE old.tenant = %s AND old.version_of = ANY(%s)
"""
# Both sides of a join say which rows are meant: of a tenant that is new to the planner it expects
# so few that it would go through all of them again and again.
_MOVE_CHUNKS: Final = """
    UPDATE chunk c SET collection_id = old.collection_id, document_id = old.id FROM document old
    WHERE c.tenant = %(tenant)s AND old.tenant = %(tenant)s AND c.document_id = old.version_of
        AND old.id = ANY(%(kept)s) AND c.document_id = ANY(%(of)s)
"""
_TEXTS: Final = f"""
    SELECT c.id, {TEXT}, {LEAD}
    FROM chunk c JOIN document d ON d.tenant = c.tenant AND d.id = c.document_id
    WHERE c.tenant = %(tenant)s AND c.document_id = ANY(%(of)s)
        AND d.tenant = %(tenant)s AND d.id = ANY(%(of)s) ORDER BY c.id
"""  # noqa: S608  built from constants only
# By document and without a join, whose plan goes wrong where the planner knows nothing of a tenant.
_MOVE_VECTORS: Final = SQL("""
    UPDATE {} SET collection_id = %s, document_id = %s, generation = %s
    WHERE tenant = %s AND collection_id = %s AND document_id = %s
""")
_SPACES: Final = """
    SELECT kept FROM collection_space
    WHERE tenant = %s AND collection_id = %s AND kept IS NOT NULL ORDER BY kept
"""
_BEYOND: Final = """
    SELECT id FROM (
        SELECT id, row_number() OVER (PARTITION BY version_of ORDER BY version DESC) AS n
        FROM document WHERE tenant = %s AND version_of = ANY(%s)) AS old WHERE n > %s
"""
_VERSIONS: Final = """
    SELECT d.version, d.id, d.updated_at, d.valid_to, d.title, d.chars FROM document d
    JOIN document given ON given.tenant = %(tenant)s AND given.id = %(id)s
    WHERE d.tenant = %(tenant)s AND (d.id = coalesce(given.version_of, given.id)
            OR d.version_of = coalesce(given.version_of, given.id))
        AND may_read(d.owner, d.readers, %(readers)s::text[])
    ORDER BY d.version DESC
"""
_FIND: Final = "SELECT id FROM document WHERE tenant = %s AND version_of = %s AND version = %s"
_WITHOUT_VECTOR: Final = SQL("""
    SELECT count(*) FROM chunk c WHERE c.tenant = %s AND c.document_id = %s
        AND NOT EXISTS (SELECT FROM {} v WHERE v.tenant = c.tenant AND v.chunk_id = c.id)
""")
_TAKE_BACK: Final = """
    UPDATE document d SET content_hash = old.content_hash, fingerprint = old.fingerprint,
        title = old.title, language = old.language, media_type = old.media_type,
        metadata = old.metadata, page_starts = old.page_starts, page_numbers = old.page_numbers,
        page_labels = old.page_labels, signature = old.signature, chars = old.chars,
        text = old.text, bytes = old.bytes, source_id = NULL, version = d.version + 1,
        updated_at = greatest(now(), d.updated_at + interval '1 microsecond')
    FROM document old WHERE d.tenant = %(tenant)s AND d.id = %(id)s
        AND old.tenant = %(tenant)s AND old.id = %(old)s
    RETURNING d.metadata
"""
_SOURCE: Final = "SELECT source_id FROM document WHERE tenant = %s AND id = %s"
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

    `to` is None of the one that still is.
    """

    version: int
    id: int
    since: datetime
    to: datetime | None
    title: str
    chars: int


def beside(cursor: Cursor[Any], tenant: str, collection: int) -> int | None:
    """Return the collection of a collection's old versions, None where there never was one."""
    row = cursor.execute(_BESIDE, (tenant, collection)).fetchone()
    return None if row is None else int(row[0])


def make_beside(cursor: Cursor[Any], tenant: str, collection: int) -> None:
    """Make the collection of a collection's old versions; for a transaction of its own."""
    if beside(cursor, tenant, collection) is None:
        cursor.execute(_MAKE, (tenant, collection))


def keep(cursor: Cursor[Any]) -> None:
    """Keep what is replaced from here to the end of the transaction; `move` does the rest."""
    cursor.execute(_KEEP)


def move(
    cursor: Cursor[Any], tenant: str, collection: int, replaced: Sequence[int], analyse: Analyse
) -> None:
    """Move the chunks of replaced documents to the versions that were kept; delete the others.

    Vectors go with them in every space, and their words are indexed beside. To be called after the
    documents' rows were changed, before their new chunks are there.
    """
    postings.bury(cursor, tenant, replaced)
    kept = dict(cursor.execute(_JUST_KEPT, (tenant, list(replaced))).fetchall())
    delete_chunks(cursor, tenant, [one for one in replaced if one not in kept])
    if not kept:
        return
    old = list(kept.values())
    cursor.execute(_MOVE_CHUNKS, {"tenant": tenant, "kept": old, "of": list(kept)})
    texts = cursor.execute(_TEXTS, {"tenant": tenant, "of": old}).fetchall()
    chunks = [int(row[0]) for row in texts]
    place = beside(cursor, tenant, collection)
    assert place is not None, "a version was kept in it"
    for table in _tables(cursor, tenant, collection):
        rows = [(place, its, table.written, tenant, collection, of) for of, its in kept.items()]
        cursor.executemany(_MOVE_VECTORS.format(Identifier(table.name)), rows)
    terms = Terms.of([analyse(indexed_text(text, lead)) for _, text, lead in texts])
    postings.add_segment(cursor, tenant, place, chunks, terms)


def drop_beyond(cursor: Cursor[Any], tenant: str, of: Sequence[int], number: int) -> None:
    """Delete the old versions of documents, except the latest so many of each."""
    rows = cursor.execute(_BEYOND, (tenant, list(of), number)).fetchall()
    gone = [int(row[0]) for row in rows]
    if gone:
        postings.bury(cursor, tenant, gone)
        query = "DELETE FROM document WHERE tenant = %s AND id = ANY(%s)"
        cursor.execute(query, (tenant, gone))


def versions(
    cursor: Cursor[Any], tenant: str, document: int, readers: Readers = None
) -> list[Version]:
    """List a document's versions, or those of what a number is an old one of; the current first."""
    values = {"tenant": tenant, "id": document, "readers": listed(readers)}
    return [Version(*row) for row in cursor.execute(_VERSIONS, values)]


def restore(
    cursor: Cursor[Any],
    tenant: str,
    collection: int,
    document: int,
    version: int,
    *,
    analyse: Analyse,
) -> None:
    """Make an old version of a locked document its current one again, as a new version.

    The one that was current is kept. Raises NotFoundError for a version that is not kept,
    UsageError for one without vectors in the space that the collection is searched in.
    """
    row = cursor.execute(_FIND, (tenant, document, version)).fetchone()
    if row is None:
        raise NotFoundError(
            f"Document {document} has no old version {version}: `ragkit documents versions"
            f" {document}` shows those that were kept."
        )
    old = int(row[0])
    _check_vectors(cursor, tenant, collection, old, version)
    keep(cursor)
    source = cursor.execute(_SOURCE, (tenant, document)).fetchone()
    taken = cursor.execute(_TAKE_BACK, {"tenant": tenant, "id": document, "old": old}).fetchone()
    assert taken is not None, "the document is locked"
    if source is not None and source[0] is not None:
        documents.drop_source(cursor, tenant, source[0])  # what was uploaded is another text
    metadata.note(cursor, tenant, collection, [document], [taken[0]])
    move(cursor, tenant, collection, [document], analyse)
    texts = cursor.execute(_TEXTS, {"tenant": tenant, "of": [old]}).fetchall()
    query = "SELECT nextval('chunk_id') FROM generate_series(1, %s)"
    chunks = [int(one) for (one,) in cursor.execute(query, (len(texts),)).fetchall()]
    values: Mapping[str, object] = {
        "tenant": tenant,
        "collection": collection,
        "document": document,
        "from": [row[0] for row in texts],
        "to": chunks,
    }
    cursor.execute(_COPY_CHUNKS, values)
    for table in _tables(cursor, tenant, collection):
        named = _COPY_VECTORS.format(Identifier(table.name))
        cursor.execute(named, {**values, "generation": table.written})
    terms = Terms.of([analyse(indexed_text(text, lead)) for _, text, lead in texts])
    postings.add_segment(cursor, tenant, collection, chunks, terms)


def _check_vectors(
    cursor: Cursor[Any], tenant: str, collection: int, old: int, version: int
) -> None:
    """Keep the collection in its space, and see that an old version has its vectors there."""
    query = "SELECT space_id FROM collection WHERE tenant = %s AND id = %s FOR SHARE"
    row = cursor.execute(query, (tenant, collection)).fetchone()
    assert row is not None, "the collection is locked"
    table = None if row[0] is None else Identifier(vectors.table_name(row[0]))
    if table is not None:
        missing = cursor.execute(_WITHOUT_VECTOR.format(table), (tenant, old)).fetchone()
        if missing == (0,):
            return
    raise UsageError(
        f"Version {version} was embedded with another model than the collection has now: ingest"
        " its file again instead."
    )


def _tables(cursor: Cursor[Any], tenant: str, collection: int) -> list[vectors.Table]:
    """Find the tables of the spaces that a collection has vectors in."""
    numbers = [int(one) for (one,) in cursor.execute(_SPACES, (tenant, collection)).fetchall()]
    found = (vectors.find_table(cursor, number) for number in numbers)
    return [table for table in found if table is not None]
