"""List the items of several places, lazily.

It knows what was skipped, and which stored documents the places answer for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from ragkit_ingest.run.skipped import SkippedFiles
from ragkit_ingest.sources.item import Item
from ragkit_ingest.sources.items_of_file import Taking
from ragkit_ingest.sources.options import SourceOptions
from ragkit_ingest.sources.skipped import Passed


class Place(Protocol):
    """Where things are taken from; `root` names it so that it is found again, "" if it is not."""

    @property
    def root(self) -> str: ...

    def items(self, taking: Taking) -> Iterator[Item]:
        """Yield what is there, in an order that is the same each time."""

    def covers(self, uri: str) -> bool:
        """Say whether a stored document of this URI has vanished when it is not among them."""


class Listing:
    """What is in the places: each thing once, anew from the start each time it is asked for."""

    def __init__(self, places: Sequence[Place], options: SourceOptions) -> None:
        self._places = places
        self._options = options
        self._passed = Passed()
        self._done: list[Place] = []

    def __iter__(self) -> Iterator[Item]:
        return (item for _, item in self._items(as_files=False))

    def files(self) -> Iterator[tuple[str, Item]]:
        """Yield files as they lie there, each with its place's root: records in them are not read.

        A file of records is a RecordFile, whose things `unpacked` puts in its stead.
        """
        return self._items(as_files=True)

    def _items(self, *, as_files: bool) -> Iterator[tuple[str, Item]]:
        self._passed = Passed()
        self._done = []
        taking = Taking(self._options, self._passed, as_files=as_files)
        hashes: set[int] = set()
        for place in self._places:
            for item in place.items(taking):
                # One place has nothing twice. Of several, hashes are kept: texts would take more.
                if len(self._places) > 1:
                    mark = hash(item.uri)
                    if mark in hashes:
                        continue
                    hashes.add(mark)
                yield place.root, item
            self._done.append(place)

    @property
    def skipped(self) -> SkippedFiles:
        """The files and folders that were not taken, so far."""
        return self._passed.skipped

    @property
    def empty(self) -> Sequence[str]:
        """Places that there was nothing in: what came from them may be away, not gone."""
        return self._passed.empty

    def has_entered(self, uri: str) -> bool:
        """Say whether a folder, a container or a file of records was looked through."""
        return self._passed.has_entered(uri)

    def covers(self, uri: str) -> bool:
        """Say whether a stored document that was not among these things has vanished.

        That is only said of places that were listed to their end, and of nothing below a folder or
        in a container that could not be looked into.
        """
        return any(place.covers(uri) for place in self._done) and not self._passed.has_lost(uri)
