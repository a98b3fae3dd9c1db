"""Collections and documents in pages, and documents' texts in excerpts.

Every page begins after the last item of the previous one, in SQL, so that the thousandth costs what
the first does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ragkit.errors import NotFoundError
from ragkit.store.documents.documents import collection_id, pages_of
from ragkit.store.documents.visible import COUNTS
from ragkit.store.session import TenantSessions
from ragkit.types import Page

_COLLECTIONS = f"""
    SELECT c.name, c.created_at, counted.documents, counted.chunks, c.owner, c.readers
    FROM visible_collection c {COUNTS}
    WHERE c.tenant = %(tenant)s AND c.versions_of IS NULL
        AND (%(names)s::text[] IS NULL OR c.name = ANY(%(names)s))
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
    FROM visible_document d
    JOIN collection c ON c.tenant = d.tenant AND c.id = d.collection_id
    LEFT JOIN source s ON s.tenant = d.tenant AND s.id = d.source_id
    WHERE d.tenant = %(tenant)s
"""
_PAGE = f"""{_DOCUMENTS} AND d.collection_id = %(collection)s
    AND (%(after)s::bigint IS NULL OR d.id > %(after)s)
    ORDER BY d.id LIMIT %(limit)s
"""
_ONE = f"{_DOCUMENTS} AND d.id = %(document)s"
_EXCERPT = """
    SELECT version, title, language, chars, substr(text, %(start)s + 1, %(chars)s),
        page_starts, page_numbers, page_labels
    FROM visible_document WHERE tenant = %(tenant)s AND id = %(document)s
"""
_CHUNKS = """
    SELECT id, ordinal, start_char, end_char, page, headings FROM visible_chunk
    WHERE tenant = %(tenant)s AND document_id = %(document)s
        AND start_char < %(start)s::bigint + %(chars)s AND end_char > %(start)s
    ORDER BY ordinal
"""


@dataclass(frozen=True, slots=True)
class ListedCollection:
    """A collection, when it was made, and its numbers of documents and chunks."""

    name: str
    created_at: datetime
    documents: int
    chunks: int
    owner: str | None = None
    readers: Sequence[str] | None = None  # None: the whole tenant


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A document without its text; `file` and `bytes` are of its stored upload, if any."""

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
    """A chunk's span in its document's text."""

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


class Browser(TenantSessions):
    """One tenant's collections and documents, for these readers; None: an operator."""

    def collections(
        self, *, limit: int, after: str | None = None, names: Sequence[str] | None = None
    ) -> list[ListedCollection]:
        """List up to `limit` collections by name, those behind `after`; of these names, if any."""
        listed = None if names is None else list(names)
        values = {"names": listed, "after": after, "limit": limit}
        with self._snapshot() as session:
            return [ListedCollection(*row) for row in session.execute(_COLLECTIONS, values)]

    def collection(self, name: str) -> ListedCollection:
        """Look one collection up. Raises NotFoundError."""
        collections = self.collections(limit=1, names=[name])
        if not collections:
            raise NotFoundError(f"There is no collection {name!r}.")
        return collections[0]

    def documents(
        self, collection: str, *, limit: int, after: int | None = None
    ) -> list[ListedDocument]:
        """List up to `limit` documents in the order they came, those behind `after`."""
        with self._snapshot() as session:
            number = collection_id(session, collection)
            values = {"collection": number, "after": after, "limit": limit}
            return [ListedDocument(*row) for row in session.execute(_PAGE, values)]

    def document(self, document: int) -> ListedDocument:
        """Look one document up. Raises NotFoundError."""
        with self._snapshot() as session:
            row = session.row(_ONE, {"document": document})
        if row is None:
            raise NotFoundError(f"There is no document {document}.")
        return ListedDocument(*row)

    def excerpt(self, document: int, start: int, chars: int) -> Excerpt:
        """Return up to `chars` characters of a document's text from `start`, all of one version.

        Raises NotFoundError.
        """
        values = {"document": document, "start": start, "chars": chars}
        with self._snapshot() as session:
            row = session.row(_EXCERPT, values)
            if row is None:
                raise NotFoundError(f"There is no document {document}.")
            spans = [
                ChunkSpan(chunk, ordinal, begin, end, page, tuple(headings))
                for chunk, ordinal, begin, end, page, headings in session.execute(_CHUNKS, values)
            ]
        version, title, language, total_chars, text, *columns = row
        pages = _within(pages_of(*columns), start, start + len(text))
        return Excerpt(version, title, language, total_chars, start, text, pages, tuple(spans))


def _within(pages: Sequence[Page], start: int, end: int) -> tuple[Page, ...]:
    """Select the pages that a piece of text touches, the one it begins on included."""
    ends = [page.start for page in pages[1:]]
    last = len(pages) - 1
    return tuple(
        page
        for n, page in enumerate(pages)
        if page.start < max(end, start + 1) and (n == last or ends[n] > start)
    )
