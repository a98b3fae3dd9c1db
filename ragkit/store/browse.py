"""Collections and documents as a person looks through them: page by page, and piece by piece.

Every page begins after the last one of the page before, in SQL, so that the thousandth costs what
the first does. What the readers it is made for may not read is not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ragkit.errors import NotFoundError
from ragkit.store.access import COUNTS, listed
from ragkit.store.documents import collection_id, pages_of
from ragkit.store.lending import snapshot
from ragkit.store.where import Readers
from ragkit.types import Page

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

_COLLECTIONS = f"""
    SELECT c.name, c.created_at, counted.documents, counted.chunks, c.owner, c.readers
    FROM collection c {COUNTS}
    WHERE c.tenant = %(tenant)s AND may_read(c.owner, c.readers, %(readers)s::text[])
        AND c.versions_of IS NULL AND (%(names)s::text[] IS NULL OR c.name = ANY(%(names)s))
        AND (%(after)s::text IS NULL OR c.name > %(after)s)
    ORDER BY c.name LIMIT %(limit)s
"""  # noqa: S608
_DOCUMENTS = """
    SELECT d.id,
        coalesce((SELECT m.name FROM collection m
            WHERE m.tenant = c.tenant AND m.id = c.versions_of), c.name),
        d.uri, d.title, d.language, d.media_type, d.version, d.chars,
        (SELECT count(*) FROM chunk k WHERE k.tenant = d.tenant AND k.document_id = d.id),
        cardinality(d.page_starts), s.name, s.bytes, d.updated_at, d.owner, d.readers
    FROM document d
    JOIN collection c ON c.tenant = d.tenant AND c.id = d.collection_id
    LEFT JOIN source s ON s.tenant = d.tenant AND s.id = d.source_id
    WHERE d.tenant = %(tenant)s AND may_read(c.owner, c.readers, %(readers)s::text[])
        AND may_read(d.owner, d.readers, %(readers)s::text[])
"""
_PAGE = f"""{_DOCUMENTS} AND d.collection_id = %(collection)s
    AND (%(after)s::bigint IS NULL OR d.id > %(after)s)
    ORDER BY d.id LIMIT %(limit)s
"""
_ONE = f"{_DOCUMENTS} AND d.id = %(document)s"
_EXCERPT = """
    SELECT version, title, language, chars, substr(text, %(start)s + 1, %(chars)s),
        page_starts, page_numbers, page_labels
    FROM document d WHERE tenant = %(tenant)s AND id = %(document)s
        AND may_read(owner, readers, %(readers)s::text[]) AND EXISTS (
            SELECT 1 FROM collection c WHERE c.tenant = d.tenant AND c.id = d.collection_id
                AND may_read(c.owner, c.readers, %(readers)s::text[]))
"""
_CHUNKS = """
    SELECT id, ordinal, start_char, end_char, page, headings FROM chunk
    WHERE tenant = %(tenant)s AND document_id = %(document)s
        AND start_char < %(start)s::bigint + %(chars)s AND end_char > %(start)s
    ORDER BY ordinal
"""


@dataclass(frozen=True, slots=True)
class ListedCollection:
    """A collection, when it was made, and how much is in it."""

    name: str
    created_at: datetime
    documents: int
    chunks: int
    owner: str | None = None
    readers: Sequence[str] | None = None  # None: the whole tenant


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A document without its text; `file` and `bytes` are of the upload that is kept, if any."""

    id: int
    collection: str
    uri: str
    title: str
    language: str
    media_type: str
    version: int
    chars: int
    chunks: int
    pages: int
    file: str | None
    bytes: int | None
    updated_at: datetime
    owner: str | None = None
    readers: Sequence[str] | None = None  # None: all who may read the collection


@dataclass(frozen=True, slots=True)
class ChunkSpan:
    """Where a chunk lies in its document's text."""

    id: int
    ordinal: int
    start: int
    end: int
    page: int | None
    headings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A piece of a document's text from `start`, the pages that lie in it, and its chunks."""

    version: int
    title: str
    language: str
    chars: int
    start: int
    text: str
    pages: tuple[Page, ...]
    chunks: tuple[ChunkSpan, ...]


class Browser:
    """What there is in one tenant's collections for these readers; None: an operator, all."""

    def __init__(
        self, pool: ConnectionPool[Connection[Any]], tenant: str, readers: Readers = None
    ) -> None:
        self._pool = pool
        self._tenant = tenant
        self._readers = readers
        self._who = {"tenant": tenant, "readers": listed(readers)}

    def collections(
        self, *, limit: int, after: str | None = None, names: Sequence[str] | None = None
    ) -> list[ListedCollection]:
        """List up to `limit` collections by name, those behind `after`; of these names, if any."""
        wanted = None if names is None else list(names)
        values = {**self._who, "names": wanted, "after": after, "limit": limit}
        with snapshot(self._pool, self._tenant) as cursor:
            return [ListedCollection(*row) for row in cursor.execute(_COLLECTIONS, values)]

    def collection(self, name: str) -> ListedCollection:
        """Look one collection up. Raises NotFoundError."""
        found = self.collections(limit=1, names=[name])
        if not found:
            raise NotFoundError(f"There is no collection {name!r}.")
        return found[0]

    def documents(
        self, collection: str, *, limit: int, after: int | None = None
    ) -> list[ListedDocument]:
        """List up to `limit` documents in the order they came, those behind `after`."""
        values = {**self._who, "after": after, "limit": limit}
        with snapshot(self._pool, self._tenant) as cursor:
            number = collection_id(cursor, self._tenant, collection, readers=self._readers)
            rows = cursor.execute(_PAGE, {**values, "collection": number})
            return [ListedDocument(*row) for row in rows]

    def document(self, document: int) -> ListedDocument:
        """Look one document up. Raises NotFoundError."""
        values = {**self._who, "document": document}
        with snapshot(self._pool, self._tenant) as cursor:
            row = cursor.execute(_ONE, values).fetchone()
        if row is None:
            raise NotFoundError(f"There is no document {document}.")
        return ListedDocument(*row)

    def excerpt(self, document: int, start: int, chars: int) -> Excerpt:
        """Return up to `chars` characters of a document's text from `start`, all of one version.

        Raises NotFoundError.
        """
        values = {**self._who, "document": document, "start": start, "chars": chars}
        with snapshot(self._pool, self._tenant) as cursor:
            row = cursor.execute(_EXCERPT, values).fetchone()
            if row is None:
                raise NotFoundError(f"There is no document {document}.")
            spans = [
                ChunkSpan(chunk, ordinal, first, end, page, tuple(headings))
                for chunk, ordinal, first, end, page, headings in cursor.execute(_CHUNKS, values)
            ]
        version, title, language, all_chars, text, *paged = row
        seen = _within(pages_of(*paged), start, start + len(text))
        return Excerpt(version, title, language, all_chars, start, text, seen, tuple(spans))


def _within(pages: Sequence[Page], start: int, end: int) -> tuple[Page, ...]:
    """Select the pages that a piece of text touches, the one it begins on included."""
    ends = [page.start for page in pages[1:]]
    last = len(pages) - 1
    return tuple(
        page
        for n, page in enumerate(pages)
        if page.start < max(end, start + 1) and (n == last or ends[n] > start)
    )
