"""Skipped files, and places that could not be read.

It is written by the one thread that lists and unpacks.
"""

from __future__ import annotations

from ragkit_ingest.run.skipped import SkippedFiles


class Passed:
    """Skipped files, and URIs below which something may be that was not seen."""

    def __init__(self) -> None:
        self.skipped = SkippedFiles()
        self._lost: set[str] = set()
        self._entered: set[int] = set()  # hashes: texts would take more
        self.empty: list[str] = []  # places in which there is nothing at all

    def skip(self, uri: str, reason: str) -> None:
        """Note a file or folder that is not taken."""
        self.skipped.add(uri, reason)

    def lose(self, uri: str) -> None:
        """Note what could not be looked into."""
        self._lost.add(uri)

    def enter(self, uri: str) -> None:
        """Note a folder, container or file of records that was looked through."""
        self._entered.add(hash(uri))

    def has_entered(self, uri: str) -> bool:
        """Say whether this was looked through, or the file of records that it is a line of."""
        return hash(uri.partition("#line ")[0]) in self._entered

    def find_empty(self, uri: str) -> None:
        """Note a place with nothing in it: a drive that is not mounted looks like this, too."""
        self.empty.append(uri)
        self.lose(uri)

    def has_lost(self, uri: str) -> bool:
        """Say whether a URI lies in what could not be looked into."""
        return any(is_in(uri, lost) for lost in self._lost)


def is_in(uri: str, place: str) -> bool:
    """Say whether a URI is a place, or a file, member or record below it.

    >>> is_in("/a/b.zip!/c.md", "/a/b.zip"), is_in("/a/bc", "/a/b")
    (True, False)
    """
    if not uri.startswith(place):
        return False
    below = uri[len(place) :]
    return not below or place.endswith("/") or below.startswith(("/", "!/", "#"))
