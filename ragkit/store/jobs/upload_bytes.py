"""Uploaded files in PostgreSQL: their bytes in parts, and the jobs that make documents of them.

A file is kept until the document that was made of it is replaced or deleted. It knows nothing of
HTTP, and of formats only which names are safe to hand out as what they are.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from ragkit.errors import BusyError, NotFoundError, UsageError
from ragkit.store.connection.rows import first_value
from ragkit.store.connection.transactions import transaction
from ragkit.store.documents import documents
from ragkit.store.documents.filter_sql import Readers
from ragkit.store.documents.upload_place import gone, own_key
from ragkit.store.documents.visible import listed
from ragkit.store.session import Session

if TYPE_CHECKING:
    from psycopg import Connection, Cursor
    from psycopg_pool import ConnectionPool

CHANNEL: Final = "ragkit_upload"  # what workers listen to
PREFIX: Final = "upload:"  # of the URI of a document that was uploaded
PART_BYTES: Final = 1 << 20
MAX_NAME_BYTES: Final = 255  # what file systems take
MAX_KEY_CHARS: Final = 255  # arbitrary; a UUID has 36
KEY_DAYS: Final = 1  # for so long the same request sent again gets the same answer

# What a browser does no harm with; everything else is handed out as mere bytes.
_SAFE_TYPES: Final = {
    ".pdf": "application/pdf",
    ".txt": "text/plain",
    ".md": "text/plain",
    ".markdown": "text/plain",
    ".csv": "text/csv",
}
# Characters that turn the direction of what follows, so that a name reads as another.
_TURNING: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")

_ADD_SOURCE = """
    INSERT INTO source
        (tenant, collection_id, uri, uri_key, name, media_type, sha256, bytes, principal,
        principals)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING id
"""
_ADD_PART = "INSERT INTO source_part (tenant, source_id, n, data) VALUES (%s, %s, %s, %b)"
_ADD_JOB = """
    INSERT INTO job (tenant, collection_id, kind, uri, uri_key, name, source_id, principal)
    VALUES (%s, %s, 'upload', %s, %s, %s, %s, %s) RETURNING id
"""
_FORGET_KEY = """
    DELETE FROM upload_key k WHERE tenant = %(tenant)s AND principal = %(principal)s
        AND key = %(key)s AND (created_at < now() - make_interval(days => %(days)s)
            OR NOT EXISTS (SELECT 1 FROM job j WHERE j.tenant = k.tenant AND j.id = ANY(k.jobs)))
"""
_TAKE_KEY = """
    INSERT INTO upload_key (tenant, principal, key, request, jobs)
    VALUES (%(tenant)s, %(principal)s, %(key)s, %(request)s, '{}') ON CONFLICT DO NOTHING
"""
_FIND_KEY = """
    SELECT request, jobs FROM upload_key
    WHERE tenant = %(tenant)s AND principal = %(principal)s AND key = %(key)s
"""
_ANSWER_KEY = """
    UPDATE upload_key SET jobs = %(jobs)s
    WHERE tenant = %(tenant)s AND principal = %(principal)s AND key = %(key)s
"""
_OF_DOCUMENT = """
    SELECT s.id, s.uri, s.name, s.media_type, s.sha256, s.bytes, s.created_at
    FROM document d JOIN collection c ON c.tenant = d.tenant AND c.id = d.collection_id
    LEFT JOIN source s ON s.tenant = d.tenant AND s.id = d.source_id
    WHERE d.tenant = %(tenant)s AND d.id = %(document)s
        AND may_read(c.owner, c.readers, %(readers)s::text[])
        AND may_read(d.owner, d.readers, %(readers)s::text[])
"""
_ONE = """
    SELECT id, uri, name, media_type, sha256, bytes, created_at
    FROM source WHERE tenant = %s AND id = %s
"""
_PLACE = """
    SELECT uri, uri_key FROM document WHERE tenant = %(tenant)s AND collection_id = %(collection)s
        AND id = %(document)s AND may_read(owner, readers, %(readers)s::text[])
"""
_TAKEN = """
    SELECT 1 FROM document WHERE tenant = %(tenant)s AND collection_id = %(collection)s
        AND uri_key = %(key)s AND NOT may_read(owner, readers, %(readers)s::text[])
"""
_PART = "SELECT data FROM source_part WHERE tenant = %s AND source_id = %s AND n = %s"


@dataclass(frozen=True, slots=True)
class Upload:
    """A file on its way in: the name it was sent under, and its bytes, which are read twice.

    `uri` is its document's where the name does not tell it: of a file in another one.
    """

    name: str
    file: BinaryIO
    uri: str = ""


@dataclass(frozen=True, slots=True)
class StoredSource:
    """An uploaded file that is kept, without its bytes; `sha256` in hexadecimal digits."""

    id: int
    uri: str
    name: str
    media_type: str
    sha256: str
    bytes: int
    created_at: datetime


class Sources:
    """The uploaded files of one tenant that these readers may have; None: an operator, all."""

    def __init__(
        self, pool: ConnectionPool[Connection[Any]], tenant: str, readers: Readers = None
    ) -> None:
        self._pool = pool
        self._tenant = tenant
        self._readers = readers

    def keep(
        self,
        collection: str,
        uploads: Sequence[Upload],
        *,
        principal: str,
        key: str = "",
        document: int | None = None,
    ) -> list[int]:
        """Keep files and open a job for each, all or none; return the jobs' numbers, in order.

        A file takes the place of the document of the same name, or of `document`. The same `key`
        with the same files gives the same jobs. Raises NotFoundError for an unknown collection or
        document, UsageError for a name that cannot be used, BusyError for a key used otherwise.
        """
        if len(key) > MAX_KEY_CHARS or not key.isprintable():
            raise UsageError(
                f"An idempotency key has at most {MAX_KEY_CHARS} printable characters."
            )
        named = [replace(upload, name=clean_name(upload.name)) for upload in uploads]
        hashes = [_hash(upload.file) for upload in named]
        names = [upload.name for upload in named]
        request = hashlib.sha256(repr((collection, document, names, hashes)).encode()).hexdigest()
        asked = {"tenant": self._tenant, "principal": principal, "key": key, "request": request}
        with transaction(self._pool, self._tenant, self._readers) as cursor:
            session = Session(cursor, self._tenant, self._readers)
            collection_id = documents.collection_id(session, collection, lock=True)
            place = None
            if document is not None:
                place = self._place(cursor, collection_id, document)
            answered = _answered(cursor, asked) if key else None
            if answered is not None:
                return answered
            jobs = [
                self._keep(
                    cursor,
                    collection_id,
                    place or self._free_place(cursor, collection_id, uri_of(upload), principal),
                    upload,
                    hashed,
                    principal,
                )
                for upload, hashed in zip(named, hashes, strict=True)
            ]
            if key:
                cursor.execute(_ANSWER_KEY, {**asked, "jobs": jobs})
            cursor.execute("SELECT pg_notify(%s, '')", (CHANNEL,))  # told when this is committed
        return jobs

    def of_document(self, document: int) -> StoredSource:
        """Return the file that a document was made of. Raises NotFoundError where none is kept."""
        with transaction(self._pool, self._tenant, self._readers) as cursor:
            who = {"tenant": self._tenant, "readers": listed(self._readers)}
            row = cursor.execute(_OF_DOCUMENT, {**who, "document": document}).fetchone()
        if row is None:
            raise NotFoundError(f"There is no document {document}.")
        if row[0] is None:
            raise NotFoundError(
                f"The file of document {document} is not kept here: it was read from a path, not"
                " uploaded."
            )
        return StoredSource(*row)

    def get(self, source: int) -> StoredSource:
        """Look a kept file up, whoever may have it: for the worker that makes a document of it.

        Raises NotFoundError when a later one has taken its place.
        """
        with transaction(self._pool, self._tenant, self._readers) as cursor:
            row = cursor.execute(_ONE, (self._tenant, source)).fetchone()
        if row is None:
            raise gone(source)
        return StoredSource(*row)

    def parts(self, source: StoredSource) -> Iterator[bytes]:
        """Yield a file's bytes in parts, each read by itself: a slow reader holds no connection.

        Raises NotFoundError when the file is deleted before its end.
        """
        for n in range(-(-source.bytes // PART_BYTES)):
            with transaction(self._pool, self._tenant, self._readers) as cursor:
                values = (self._tenant, source.id, n)
                row = cursor.execute(_PART, values, binary=True).fetchone()
            if row is None:
                raise gone(source.id)
            yield row[0]

    def _keep(
        self,
        cursor: Cursor[Any],
        collection_id: int,
        place: tuple[str, bytes],
        upload: Upload,
        hashed: tuple[str, int],
        principal: str,
    ) -> int:
        """Write one file and its job."""
        tenant = self._tenant
        uri, _ = place
        named = (tenant, collection_id, *place, upload.name, media_type(upload.name))
        sender = (principal, listed(self._readers))
        source = int(first_value(cursor, _ADD_SOURCE, (*named, *hashed, *sender)))
        for n, part in enumerate(_parts(upload.file)):
            cursor.execute(_ADD_PART, (tenant, source, n, part))
        own = documents.uri_key(f"source {source}")  # jobs of the same document are many
        values = (tenant, collection_id, uri, own, upload.name, source, principal)
        return int(first_value(cursor, _ADD_JOB, values))

    def _place(self, cursor: Cursor[Any], collection_id: int, document: int) -> tuple[str, bytes]:
        """Return the URI of a document that is there for the readers, and what it is found by."""
        values = {"tenant": self._tenant, "collection": collection_id, "document": document}
        row = cursor.execute(_PLACE, {**values, "readers": listed(self._readers)}).fetchone()
        if row is None:
            raise NotFoundError(f"There is no document {document}.")
        return str(row[0]), bytes(row[1])

    def _free_place(
        self, cursor: Cursor[Any], collection_id: int, uri: str, principal: str
    ) -> tuple[str, bytes]:
        """Return a URI and what the document is found by: by the URI itself, unless a document has
        it that the readers may not read. That is neither replaced nor told of.
        """
        key = documents.uri_key(uri)
        values = {"tenant": self._tenant, "collection": collection_id, "key": key}
        taken = cursor.execute(_TAKEN, {**values, "readers": listed(self._readers)}).fetchone()
        return uri, own_key(uri, principal) if taken else key


def clean_name(raw: str) -> str:
    """Make a safe file name of what a client sent: no folders, no control characters.

    Raises UsageError for one that is empty, too long, or without an extension.

    >>> clean_name("C:\\\\reports\\\\Plan 1.pdf")
    'Plan 1.pdf'
    """
    last = unicodedata.normalize("NFC", raw.replace("\\", "/").rsplit("/", 1)[-1])
    kept = (one for one in last if unicodedata.category(one) not in {"Cc", "Cs", "Zl", "Zp"})
    name = _TURNING.sub("", "".join(kept)).strip()
    if len(name.encode()) > MAX_NAME_BYTES:
        raise UsageError(f"The file name {name[:40]!r}... is longer than {MAX_NAME_BYTES} bytes.")
    if not PurePosixPath(name).suffix:
        raise UsageError(
            f"The file name {name!r} has no extension, such as .pdf, which tells its format."
        )
    return name


def uri_of(upload: Upload) -> str:
    """Return the URI of what is made of an upload."""
    return upload.uri or PREFIX + upload.name


def media_type(name: str) -> str:
    """Return what a file is handed out as, by its name."""
    return _SAFE_TYPES.get(PurePosixPath(name).suffix.lower(), "application/octet-stream")


def _answered(cursor: Cursor[Any], asked: dict[str, Any]) -> list[int] | None:
    """Return the jobs that a key was answered with; None when it is this request's from now on.

    Waits for a request under the same key that is being answered.
    """
    cursor.execute(_FORGET_KEY, {**asked, "days": KEY_DAYS})
    if cursor.execute(_TAKE_KEY, asked).rowcount:
        return None
    row = cursor.execute(_FIND_KEY, asked).fetchone()
    if row is None or row[0] != asked["request"]:
        raise BusyError(
            f"The idempotency key {asked['key']!r} was used for other files: send a new key with"
            " them."
        )
    return list(row[1])


def _hash(file: BinaryIO) -> tuple[str, int]:
    """Return a file's sha256 and its size in bytes."""
    digest = hashlib.sha256()
    size = 0
    for part in _parts(file):
        digest.update(part)
        size += len(part)
    return digest.hexdigest(), size


def _parts(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    while part := file.read(PART_BYTES):
        yield part
