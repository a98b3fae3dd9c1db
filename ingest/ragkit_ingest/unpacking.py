"""Archives and mails among the things to take in: what they hold stands in their place, or beside.

It knows nothing of how a container is read, which a parser process does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NoReturn

from ragkit.errors import IngestError
from ragkit_ingest.items import Item
from ragkit_ingest.parse import CONTAINERS, MEDIA_TYPES
from ragkit_ingest.sources import RecordFile, expanded

if TYPE_CHECKING:
    from ragkit_ingest.sandbox import ParserPool
    from ragkit_ingest.spool import Part


def unpacked(items: Iterable[Item], parsers: ParserPool, max_bytes: int) -> Iterator[Item]:
    """Yield things; of containers the files in them, of files of records these; a mail is both.

    A container that cannot be unpacked is a thing that cannot be read.
    """

    def unpack(data: bytes, suffix: str) -> list[tuple[str, Part]]:
        return parsers.members(data, suffix).result()

    for item in items:
        if isinstance(item, RecordFile):
            yield from item.records()
            continue
        if item.suffix in MEDIA_TYPES:
            yield item
        if item.suffix not in CONTAINERS:
            continue
        try:
            inside = expanded(item, item.read(max_bytes), unpack)
        except IngestError as error:
            if item.suffix not in MEDIA_TYPES:  # a mail fails by itself
                yield _failing(item, error)
            continue
        yield from inside


def _failing(item: Item, error: IngestError) -> Item:
    def read(max_bytes: int) -> NoReturn:
        raise error

    return Item(item.uri, item.suffix, read)
