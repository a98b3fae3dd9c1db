"""Unpack archives and mails among the items: their members stand in their place, or beside them.

A parser process reads the containers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ragkit.errors import IngestError
from ragkit_ingest.parse import CONTAINERS, MEDIA_TYPES
from ragkit_ingest.sources import RecordFile, expanded
from ragkit_ingest.sources.item import Item, failing

if TYPE_CHECKING:
    from ragkit_ingest.parser.pool import ParserPool
    from ragkit_ingest.parser.spool import Part


def unpacked(items: Iterable[Item], parsers: ParserPool, max_bytes: int) -> Iterator[Item]:
    """Yield items; of a container its members, of a file of records these; a mail is both.

    A container that cannot be unpacked is an item that cannot be read.
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
            members = expanded(item, item.read(max_bytes), unpack)
        except IngestError as error:
            if item.suffix not in MEDIA_TYPES:  # a mail fails by itself
                yield failing(item.uri, item.suffix, error)
            continue
        yield from members
