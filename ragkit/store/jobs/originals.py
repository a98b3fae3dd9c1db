"""The original file of a document: the upload that is kept, or the file that is still at its path.

Only the bytes that the document was made of are handed out, as its hash tells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ragkit.documents.content_hash import is_content
from ragkit.errors import NotFoundError
from ragkit.settings.ingest_options import KEY
from ragkit.settings.mask_kinds import PLACEHOLDERS
from ragkit.store.connection.transactions import transaction
from ragkit.store.documents.documents import pages_of
from ragkit.store.documents.filter_sql import Readers
from ragkit.store.documents.visible import listed
from ragkit.store.jobs.upload_bytes import Sources
from ragkit.system.regular_file import open_regular
from ragkit.text.places import page_span
from ragkit.types import Page, Span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from psycopg import Connection
    from psycopg_pool import ConnectionPool

MAX_BYTES: Final = 128 << 20  # arbitrary: it is held in memory, and sent to a process, for a page
PDF: Final = "application/pdf"
_IN_ARCHIVE: Final = "!/"  # in the URI of a file that lies in another

_FIND: Final = """
    SELECT d.id, d.uri, d.content_hash, d.version, d.title, d.metadata, d.media_type, d.chars,
        d.source_id, s.bytes, coalesce(m.settings, c.settings),
        EXISTS (SELECT FROM unnest(%(placeholders)s::text[]) AS p WHERE strpos(d.text, p) > 0),
        d.page_starts, d.page_numbers, d.page_labels
    FROM document d JOIN collection c ON c.tenant = d.tenant AND c.id = d.collection_id
    LEFT JOIN collection m ON m.tenant = c.tenant AND m.id = c.versions_of
    LEFT JOIN source s ON s.tenant = d.tenant AND s.id = d.source_id
    WHERE d.tenant = %(tenant)s AND d.id = %(document)s
        AND may_read(c.owner, c.readers, %(readers)s::text[])
        AND may_read(d.owner, d.readers, %(readers)s::text[])
"""


@dataclass(frozen=True, slots=True)
class Original:
    """Where a document's original file is, and what it must be; `source` is that of an upload."""

    document: int
    uri: str
    content_hash: str
    version: int
    title: str
    metadata: Mapping[str, Any]
    chars: int
    source: int | None
    pages: tuple[Page, ...]

    def span(self, page: int) -> Span:
        """Return the characters of the stored text that stand on a page; none for a blank one."""
        return page_span(self.pages, page, self.chars)


class Originals:
    """The original PDFs of one tenant's documents, for these readers; None: an operator, all.

    `mask` is the setting: what is masked in a text is not shown in a picture of it.
    """

    def __init__(
        self,
        pool: ConnectionPool[Connection[Any]],
        tenant: str,
        readers: Readers = None,
        *,
        mask: str | None = None,
    ) -> None:
        self._pool = pool
        self._tenant = tenant
        self._readers = readers
        self._mask = mask

    def find(self, document: int) -> Original:
        """Look a document's original up, without reading it. Raises NotFoundError.

        There is none of a document that is no PDF, that has private data masked, or that came
        from another place than an upload or a folder of this machine.
        """
        values = {
            "tenant": self._tenant,
            "document": document,
            "readers": listed(self._readers),
            "placeholders": list(PLACEHOLDERS.values()),
        }
        with transaction(self._pool, self._tenant) as cursor:
            row = cursor.execute(_FIND, values).fetchone()
        if row is None:
            raise NotFoundError(f"There is no document {document}.")
        number, uri, hashed, version, title, metadata, media_type, chars = row[:8]
        source, size, settings, is_masked, *paged = row[8:]
        if media_type != PDF:
            raise _none(document, "only PDFs have pages that can be shown")
        if is_masked or settings.get(KEY, {}).get("mask", self._mask):
            raise _none(document, "private data is masked in it, and the page would show that")
        if source is None and (not uri.startswith("/") or _IN_ARCHIVE in uri):
            raise _none(document, "only uploads, and files of folders of this machine, are shown")
        if size is not None and size > MAX_BYTES:
            raise _too_large(document)
        pages = tuple(pages_of(*paged))
        return Original(number, uri, hashed, version, title, metadata, chars, source, pages)

    def read(self, original: Original) -> bytes:
        """Read an original. Raises NotFoundError where it is gone, or has changed since.

        A path comes from the database. Whoever wrote it there, the hash is what counts: a file
        whose bytes the document was not made of is not handed out. It is the hash of the bytes
        that are returned, so that nothing can be changed in between.
        """
        source = original.source
        data = _read(original) if source is None else self._uploaded(source)
        if not is_content(data, original.content_hash, original.title, original.metadata):
            raise _none(original.document, "its file has changed since it was read")
        return data

    def _uploaded(self, source: int) -> bytes:
        sources = Sources(self._pool, self._tenant, self._readers)
        return b"".join(sources.parts(sources.get(source)))


def _read(original: Original) -> bytes:
    """Read a file of this machine."""
    try:
        with open_regular(original.uri) as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = "its file is no longer at its place on this machine"
        raise _none(original.document, reason) from error
    if len(data) > MAX_BYTES:
        raise _too_large(original.document)
    return data


def _too_large(document: int) -> NotFoundError:
    return _none(document, f"its file is larger than {MAX_BYTES >> 20} MB")


def _none(document: int, reason: str) -> NotFoundError:
    return NotFoundError(
        f"The original pages of document {document} cannot be shown: {reason}."
        f" Its text is at /v1/documents/{document}/text."
    )
