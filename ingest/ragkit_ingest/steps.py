"""From a file to a document that can be embedded: read, hash, chunk.

It knows nothing of jobs, processes or the database.
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ragkit.errors import IngestError, SettingsError
from ragkit.text.language import language
from ragkit.types import Chunk, NewDocument, ParsedText
from ragkit_ingest.chunk import chunk, default_sizes
from ragkit_ingest.discover import uri_of
from ragkit_ingest.parse import MEDIA_TYPES

if TYPE_CHECKING:
    from ragkit.contracts import Embedder
    from ragkit.settings import Settings


@dataclass(frozen=True)
class Source:
    """A file as it was read: its bytes, or the error that kept it from being read."""

    path: Path
    data: bytes = b""
    error: str = ""

    @property
    def uri(self) -> str:
        return uri_of(self.path)

    @cached_property
    def content_hash(self) -> str:
        """The sha256 of its bytes."""
        return hashlib.sha256(self.data).hexdigest()


def read(path: Path, *, max_bytes: int) -> Source:
    """Read a regular file of at most `max_bytes`."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            return Source(path, error="it is not a regular file")
        if found.st_size > max_bytes:
            size, limit = found.st_size >> 20, max_bytes >> 20
            return Source(path, error=f"{size} MB are over RAGKIT_MAX_FILE_MB, {limit} MB")
        return Source(path, path.read_bytes())
    except OSError as error:
        return Source(path, error=error.strerror or str(error))


class Steps:
    """What makes a document of a parsed file: sizes, model, fingerprint.

    `earlier` are fingerprints whose documents need not be made anew; `new` says that what the
    collection's model is loaded by is not noted with it yet.
    """

    def __init__(
        self,
        embedder: Embedder,
        fingerprint: str,
        settings: Settings,
        *,
        earlier: frozenset[str] = frozenset(),
        new: bool = False,
    ) -> None:
        self.embedder = embedder
        self.fingerprint = fingerprint
        self.fingerprints = earlier | {fingerprint}
        self.new = new
        self.max_file_bytes = settings.max_file_mb << 20
        self._settings = settings

    def document(self, source: Source, parsed: ParsedText) -> NewDocument:
        """Chunk a parsed file. The first call loads the embedder, whose tokens are counted."""
        chunks = chunk(
            parsed,
            self.embedder.token_spans,
            max_tokens=self._sizes[0],
            overlap_tokens=self._sizes[1],
        )
        if not chunks:
            raise IngestError("chunk", "there is no text in it")
        return NewDocument(
            uri=source.uri,
            content_hash=source.content_hash,
            fingerprint=self.fingerprint,
            text=parsed.text,
            chunks=chunks,
            title=parsed.title or _first_heading(chunks) or source.path.stem,
            language=language(parsed.text),
            media_type=MEDIA_TYPES[source.path.suffix.lower()],
            metadata=parsed.metadata,
            pages=parsed.pages,
        )

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        """Chunk size and overlap in tokens. Raises SettingsError for more than the model reads."""
        self.embedder.load()
        limit = self.embedder.max_tokens
        size = self._settings.chunk_tokens or default_sizes(limit)[0]
        if size > limit:
            raise SettingsError(
                f"RAGKIT_CHUNK_TOKENS is {size}, but {self.embedder.space.model} reads {limit}"
                " tokens: nothing would be found by what stands behind them."
            )
        overlap = self._settings.chunk_overlap_tokens
        return size, default_sizes(size)[1] if overlap is None else overlap


def _first_heading(chunks: Iterable[Chunk]) -> str:
    return next((chunk.headings[0] for chunk in chunks if chunk.headings), "")
