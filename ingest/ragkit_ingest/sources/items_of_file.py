"""Turn a file of any source into items: the file itself, its records, or none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Container as Names
from dataclasses import dataclass, field, replace
from functools import partial
from typing import BinaryIO, Final, NoReturn

from ragkit.documents.formats import suffix_of
from ragkit.errors import IngestError
from ragkit_ingest.parse import CONTAINERS, MEDIA_TYPES
from ragkit_ingest.run.skipped import unread_format
from ragkit_ingest.sources.item import Item, Stamp, Value, unknown
from ragkit_ingest.sources.options import RecordFields, SourceOptions
from ragkit_ingest.sources.sidecar import Sidecar, is_sidecar
from ragkit_ingest.sources.sizes import Read
from ragkit_ingest.sources.skipped import Passed
from ragkit_ingest.sources.suffixless import suffix_by_content

RECORD_SUFFIXES: Final = frozenset({".jsonl", ".ndjson", ".csv", ".tsv", ".tab", ".parquet"})


@dataclass(frozen=True, slots=True)
class File:
    """A file: how it is read whole, and how it is opened to be read bit by bit.

    A file `in_folder` lies in a folder or container that the user named.
    """

    uri: str
    name: str
    read: Read
    open: Callable[[], BinaryIO]
    suffix: str = ""  # where the name does not tell it
    sidecar: Sidecar | None = None
    in_folder: bool = False
    path: str = ""  # within its place
    stamp: Callable[[], Stamp | None] = unknown


@dataclass(frozen=True, slots=True)
class Container(Item):
    """A file with files in it, which are taken as it was taken itself."""

    taking: Taking | None = None


def _none() -> Iterator[Item]:
    return iter(())


@dataclass(frozen=True, slots=True)
class RecordFile(Item):
    """A file of records, each of which is a thing of its own: see `Listing.files`."""

    records: Callable[[], Iterator[Item]] = _none


@dataclass(frozen=True, slots=True)
class Taking:
    """How files are taken: the user's options, and where skipped files are noted.

    With `as_files` a file of records is one item.
    """

    options: SourceOptions = field(default_factory=SourceOptions)
    passed: Passed = field(default_factory=Passed)
    metadata: Mapping[str, Value] = field(default_factory=dict)
    as_files: bool = False

    def items(self, file: File, *, title: str = "") -> Iterator[Item]:
        """Yield what is taken of a file.

        A file of an unknown format is skipped; one that the user named is a failure.
        """
        if is_sidecar(file.name):
            if not file.in_folder:
                yield broken(file.uri, "it describes another file: name that one instead")
            return
        suffix = file.suffix or suffix_of(file.name)
        if not suffix:
            yield from self._suffixless(file, title)
            return
        fields = self.options.records
        is_container, is_text = suffix in CONTAINERS, suffix in MEDIA_TYPES
        if not (is_container or is_text or (fields and suffix in RECORD_SUFFIXES)):
            yield from self._unread(file, suffix)
            return
        metadata = dict(self.options.metadata) | dict(self.metadata)
        if file.sidecar is not None:
            try:
                statement = file.sidecar.read()
            except IngestError as error:
                yield broken(file.uri, error.reason, suffix)
                return
            title, metadata = title or statement.title, metadata | dict(statement.metadata)
        common = (stem_of(file.name), title, metadata, file.in_folder, file.path, file.stamp)
        if fields is not None and suffix in RECORD_SUFFIXES:
            records = partial(self._records, file, suffix, fields, metadata)
            if self.as_files:
                yield RecordFile(file.uri, suffix, file.read, *common, records=records)
            else:
                yield from records()
            return
        if is_container:
            read = partial(self._read_whole, file)
            yield Container(file.uri, suffix, read, *common, taking=self)
        else:
            yield Item(file.uri, suffix, file.read, *common)

    def _suffixless(self, file: File, title: str) -> Iterator[Item]:
        """Yield what is taken of a file whose name does not tell its format."""
        try:
            suffix = suffix_by_content(file.name, file.open)
        except IngestError as error:
            yield broken(file.uri, error.reason)
            return
        if suffix:
            yield from self.items(replace(file, suffix=suffix), title=title)
        else:
            yield from self._unread(file, suffix)

    def _unread(self, file: File, suffix: str) -> Iterator[Item]:
        """Note a file of an unknown format; yield one that the user named as a failure."""
        if file.in_folder:
            self.passed.skip(file.uri, unread_format(suffix))
        else:
            yield broken(file.uri, unread_format(suffix))

    def _read_whole(self, file: File, max_bytes: int) -> bytes:
        """Read a container, or note that it was not looked into."""
        try:
            return file.read(max_bytes)
        except IngestError:
            self.passed.lose(file.uri)
            raise

    def _records(
        self, file: File, suffix: str, fields: RecordFields, metadata: Mapping[str, Value]
    ) -> Iterator[Item]:
        """Yield a file's records; where one has no name, what the file has is not known in full."""
        from ragkit_ingest.sources.records import record_items

        is_whole = True
        for item in record_items(file.uri, file.open, suffix, fields, metadata):
            if item.uri.startswith(f"{file.uri}#line ") or item.uri == file.uri:
                self.passed.lose(file.uri)
                is_whole = False
            yield item
        if is_whole:
            self.passed.enter(file.uri)


def stem_of(name: str) -> str:
    """Return a name without its suffix."""
    return name[: len(name) - len(suffix_of(name))]


def has_hidden(path: str) -> bool:
    """Say whether a path goes through a hidden folder or to a hidden file."""
    return any(part.startswith(".") for part in path.split("/"))


def broken(uri: str, reason: str, suffix: str = "") -> Item:
    """Return a thing that is there and cannot be read, so that it is reported as a failure."""

    def read(max_bytes: int) -> NoReturn:
        raise IngestError("read", reason)

    # Of a format that the pipeline takes up: reading fails before the format matters.
    return Item(uri, suffix if suffix in MEDIA_TYPES else ".txt", read)


def find_sidecar(name: str, names: Names[str], read: Callable[[str, int], bytes]) -> Sidecar | None:
    """Find a file's sidecar among the names in its folder."""
    sidecars = [name + ending for ending in Sidecar.ENDINGS if name + ending in names]
    return Sidecar(tuple(sidecars), read) if sidecars else None
