"""The client's collections, documents and upload jobs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import quote
from uuid import uuid4

from ragkit.api_values import Job, ServedCollection, ServedVersion
from ragkit.client.connection import Connection
from ragkit.client.text import read_text
from ragkit.client.uploads import Upload, multipart, write_file
from ragkit.client.values import collection as read_collection
from ragkit.client.values import value, values
from ragkit.errors import BusyError, IngestError
from ragkit.types import Document


class Documents:
    """Methods of the client that list, upload and change documents."""

    _server: Connection

    def collections(self) -> Iterator[ServedCollection]:
        """Iterate over the collections that the key may see."""
        return map(read_collection, self._server.pages("/v1/collections"))

    def create_collection(self, name: str) -> ServedCollection:
        """Create a collection, or return the one that has the name."""
        return read_collection(self._server.json("POST", "/v1/collections", body={"id": name}))

    def rename_collection(self, name: str, new: str) -> ServedCollection:
        """Give a collection another name; conversations and keys that are for it follow.

        Raises NotFoundError, UsageError for a name that is taken, BusyError while files are being
        ingested into it.
        """
        path = f"/v1/collections/{_quoted(name)}"
        return read_collection(self._server.json("PATCH", path, body={"id": new}))

    def delete_collection(self, name: str) -> None:
        """Delete a collection with everything in it. Raises NotFoundError."""
        self._server.json("DELETE", f"/v1/collections/{_quoted(name)}")

    def documents(self, collection: str) -> Iterator[Document]:
        """Iterate over a collection's documents. Raises NotFoundError."""
        rows = self._server.pages(f"/v1/collections/{_quoted(collection)}/documents")
        return (value(Document, row) for row in rows)

    def document(self, document: int) -> Document:
        """Look a document up. Raises NotFoundError."""
        return value(Document, self._server.json("GET", f"/v1/documents/{document}"))

    def upload(
        self, collection: str, files: Upload | Sequence[Upload], *, key: str | None = None
    ) -> tuple[Job, ...]:
        """Upload one file or several, as paths or (name, bytes), and return their jobs.

        The server never ingests the same request twice: `key`, random by default, is its
        idempotency key. Raises NotFoundError for a path that does not exist.
        """
        path = f"/v1/collections/{_quoted(collection)}/documents"
        body = self._server.json(
            "POST", path, files=lambda: multipart(files), key=key or str(uuid4())
        )
        return values(Job, body.get("data"))

    def replace(self, document: int, file: Upload, *, key: str | None = None) -> Job:
        """Upload another version of a document; the old one stays until the new one is ready."""
        body = self._server.json(
            "PUT",
            f"/v1/documents/{document}/source",
            files=lambda: multipart([file]),
            key=key or str(uuid4()),
        )
        (job,) = values(Job, body.get("data"))
        return job

    def delete(self, document: int) -> None:
        """Delete a document. Raises NotFoundError."""
        self._server.json("DELETE", f"/v1/documents/{document}")

    def versions(self, document: int) -> tuple[ServedVersion, ...]:
        """List a document's versions, the current one first. Raises NotFoundError."""
        rows = self._server.json("GET", f"/v1/documents/{document}/versions").get("data")
        return values(ServedVersion, rows)

    def restore(self, document: int, version: int) -> Document:
        """Make an old version of a document the current one again, as a new version.

        Raises NotFoundError for a version that was not kept, UsageError for one of another
        embedding model than the collection's.
        """
        path = f"/v1/documents/{document}/versions/{version}/restore"
        return value(Document, self._server.json("POST", path))

    def source(self, document: int, path: str | os.PathLike[str]) -> Path:
        """Write the file that a document was uploaded as to a new file; return its path.

        Raises UsageError for a file that exists already or cannot be written.
        """
        with self._server.stream("GET", f"/v1/documents/{document}/source") as response:
            return write_file(Path(path), self._server.chunks(response))

    def page(self, document: int, page: int, path: str | os.PathLike[str]) -> Path:
        """Write a page of a document's original PDF as a PNG to a new file; return its path.

        Raises NotFoundError where the original cannot be shown, UsageError for a file that exists
        already or cannot be written.
        """
        with self._server.stream("GET", f"/v1/documents/{document}/pages/{page}.png") as response:
            return write_file(Path(path), self._server.chunks(response))

    def text(self, document: int) -> str:
        """Return a document's complete canonical text, in which all offsets count characters."""
        return read_text(self._server, document)

    def job(self, job: int) -> Job:
        """Look a job up. Raises NotFoundError."""
        return value(Job, self._server.json("GET", f"/v1/jobs/{job}"))

    def jobs(
        self, *, state: Literal["queued", "running", "done", "failed", "cancelled"] | None = None
    ) -> Iterator[Job]:
        """Iterate over the jobs, the latest first."""
        return (value(Job, row) for row in self._server.pages("/v1/jobs", state=state))

    def wait(self, job: Job | int, timeout_s: float = 600.0) -> Job:
        """Wait until a job is done and return it.

        Raises IngestError when it failed or was cancelled, BusyError when it is not done in time.
        """
        number = job if isinstance(job, int) else job.id
        deadline, pause_s = time.monotonic() + timeout_s, 0.1
        while True:
            current = self.job(number)
            if current.state == "done":
                return current
            if current.state == "failed":
                raise IngestError(current.stage, f"{current.reason} ({current.name})")
            if current.state == "cancelled":
                raise IngestError("cancelled", f"job {number} ({current.name}): upload it again")
            remaining_s = deadline - time.monotonic()
            if remaining_s <= 0:
                raise BusyError(
                    f"job {number} ({current.name}) is {current.state} after {timeout_s:g} s: wait"
                    " longer, and see that an ingestion worker runs"
                )
            time.sleep(min(pause_s, remaining_s))
            pause_s = min(pause_s * 1.5, 2.0)


def _quoted(name: str) -> str:
    return quote(name, safe="")
