"""A collection's files in pages, by part of a name and sorted.

A file is a document, or an upload that is waiting, being read, or failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, get_args

from psycopg.types.json import Jsonb

from ragkit.store.documents.documents import collection_id
from ragkit.store.jobs.uploads import VISIBLE
from ragkit.store.session import TenantSessions
from ragkit.text.normalise import clean

Sort = Literal["name", "type", "size", "date", "state"]
FileState = Literal["failed", "running", "queued", "done"]
SORTS: Final[tuple[Sort, ...]] = get_args(Sort)

# By name as people see it: without a title, a document goes by its file's. The collation is alike
# on every server; strpos, unlike LIKE, knows no character with a meaning of its own. The size of a
# text is read from its header, not from the text.
_FILES: Final = f"""
    WITH file AS (
        SELECT d.id AS document, NULL::bigint AS job, d.uri, d.title,
            lower(coalesce(nullif(d.title, ''), nullif(split_part(d.uri, '/', -1), ''), d.uri))
                COLLATE "C" AS name,
            d.media_type AS kind, coalesce(s.bytes, d.bytes, octet_length(d.text)) AS size,
            d.updated_at AS date, 4 AS state
        FROM visible_document d
        LEFT JOIN source s ON s.tenant = d.tenant AND s.id = d.source_id
        WHERE d.tenant = %(tenant)s AND d.collection_id = %(collection)s
        UNION ALL
        SELECT NULL, j.id, j.uri, j.name, lower(j.name) COLLATE "C",
            coalesce(substring(lower(j.name) FROM '[.][^.]*$'), ''), s.bytes,
            j.created_at, array_position(ARRAY['failed', 'running', 'queued'], j.state)
        FROM job j JOIN collection c ON c.tenant = j.tenant AND c.id = j.collection_id
        LEFT JOIN source s ON s.tenant = j.tenant AND s.id = j.source_id
        WHERE %(uploads)s AND j.collection_id = %(collection)s AND {VISIBLE}
            AND j.state IN ('failed', 'running', 'queued')
            -- A failure is over when the file is sent again.
            AND (j.state <> 'failed' OR NOT EXISTS (
                SELECT 1 FROM job later WHERE later.tenant = j.tenant
                    AND later.collection_id = j.collection_id AND later.kind = 'upload'
                    AND later.uri = j.uri AND later.principal = j.principal AND later.id > j.id))
    ), fitting AS (
        SELECT * FROM file WHERE %(part)s::text = '' OR strpos(lower(title), lower(%(part)s)) > 0
            OR strpos(lower(uri), lower(%(part)s)) > 0
    ), page AS (
        SELECT * FROM fitting ORDER BY {{order}}, name, document, job
        LIMIT %(limit)s OFFSET %(offset)s
    )
    SELECT (SELECT count(*) FROM fitting), (SELECT count(*) FROM file), page.document, page.job,
        page.uri, page.title, page.kind, (ARRAY['failed', 'running', 'queued', 'done'])[page.state],
        page.size, d.id IS NOT NULL AND s.bytes IS NULL AND d.bytes IS NULL, page.date,
        d.language, d.version, d.chars, cardinality(d.page_starts), s.id IS NOT NULL,
        (SELECT count(*) FROM chunk k WHERE k.tenant = d.tenant AND k.document_id = d.id),
        j.reason, j.done, j.total
    FROM (SELECT) AS counts LEFT JOIN page ON true
    LEFT JOIN visible_document d ON d.tenant = %(tenant)s AND d.id = page.document
    LEFT JOIN source s ON s.tenant = d.tenant AND s.id = d.source_id
    LEFT JOIN job j ON j.tenant = %(tenant)s AND j.id = page.job
    ORDER BY {{page_order}}, page.name, page.document, page.job
"""  # noqa: S608  built from constants only
_KEYS: Final[Mapping[Sort, str]] = {
    "name": "{page}name",
    "type": "coalesce((%(types)s::jsonb ->> {page}kind)::integer, 1000)",
    "size": "{page}size",
    "date": "{page}date",
    "state": "{page}state",
}


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A document, or an upload of which there is none: then `document` is None and `job` is not.

    `kind` is the document's media type, or the upload's suffix. `size_bytes` is the size of the
    file, or where `is_text_size` that of the document's text, because the file's is not recorded;
    None of an upload whose file is gone. `has_file` tells whether the file is stored. An upload
    that failed has a `reason`; of one that is being read, `done` of `total` chunks are embedded.
    """

    document: int | None
    job: int | None
    uri: str
    title: str
    kind: str
    state: FileState
    size_bytes: int | None
    is_text_size: bool
    date: datetime
    language: str | None
    version: int | None
    chars: int | None
    pages: int | None
    has_file: bool
    chunks: int
    reason: str | None
    done: int | None
    total: int | None


@dataclass(frozen=True, slots=True)
class FileList:
    """One page of the files that fit, of `matched` in all; the collection has `all`."""

    files: tuple[ListedFile, ...]
    matched: int
    all: int


class Files(TenantSessions):
    """The files of one tenant's collections, for these readers; None: an operator."""

    def page(
        self,
        collection: str,
        part: str = "",
        *,
        limit: int,
        offset: int = 0,
        sort: Sort = "name",
        descending: bool = False,
        types: Mapping[str, int] | None = None,
        uploads: bool = False,
    ) -> FileList:
        """List `limit` of the files whose title or URI has a part, in whatever case, from `offset`.

        By "type" they are sorted by the rank that `types` gives their `kind`; by "state" what needs
        attention comes first. Without `uploads` only documents are listed. Raises NotFoundError.
        """
        values = {
            "part": clean(part),
            "limit": limit,
            "offset": offset,
            "uploads": uploads,
            "types": Jsonb(types or {}),
        }
        direction = "DESC" if descending else "ASC"
        order, page_order = (
            f"{_KEYS[sort].format(page=page)} {direction} NULLS LAST" for page in ("", "page.")
        )
        query = _FILES.format(order=order, page_order=page_order)
        with self._snapshot() as session:
            number = collection_id(session, collection)
            rows = session.execute(query, {**values, "collection": number}).fetchall()
        matched, total = rows[0][:2]
        files = (ListedFile(*row[2:]) for row in rows if row[2] is not None or row[3] is not None)
        return FileList(tuple(files), matched, total)
