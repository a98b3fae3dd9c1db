"""Standard input as one document with the name that the user gave."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import cached_property
from typing import BinaryIO, Final

from ragkit.documents.formats import suffix_of
from ragkit.errors import IngestError, UsageError
from ragkit_ingest.sources.item import Item
from ragkit_ingest.sources.items_of_file import File, Taking
from ragkit_ingest.sources.options import SourceOptions
from ragkit_ingest.sources.sizes import bounded, read_bounded

SCHEME: Final = "stdin:"


class StandardInput:
    """What comes on standard input; read once, kept for whoever asks again."""

    def __init__(self, stream: BinaryIO, options: SourceOptions, *, max_bytes: int) -> None:
        name = options.name.strip()
        if not suffix_of(name) or "/" in name:
            raise UsageError(
                "What comes on standard input needs a name, whose ending tells its format:"
                " add --name notes.md."
            )
        self.root = ""  # nobody finds it again
        self._name = name
        self._title = options.title
        self._stream = stream
        self._max_bytes = max_bytes

    def items(self, taking: Taking) -> Iterator[Item]:
        """Yield the document, or what it holds."""
        file = File(SCHEME + self._name, self._name, self._read, self._open)
        yield from taking.items(file, title=self._title)

    def covers(self, uri: str) -> bool:
        """Nothing: what came another time may have been something else."""
        return False

    @cached_property
    def _data(self) -> bytes:
        try:
            return read_bounded(self._stream, self._max_bytes)
        except OSError as error:
            raise IngestError("read", error.strerror or str(error)) from error

    def _read(self, max_bytes: int) -> bytes:
        return bounded(self._data, min(max_bytes, self._max_bytes))

    def _open(self) -> BinaryIO:
        return io.BytesIO(self._read(self._max_bytes))
