"""Reopen files that another process listed, by their place and path.

What a user said of them travels as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from ragkit.errors import IngestError, UsageError
from ragkit_ingest.sources.files import LocalTree
from ragkit_ingest.sources.listing import Listing, Place
from ragkit_ingest.sources.options import RecordFields, SourceOptions
from ragkit_ingest.sources.places import find, scheme_of
from ragkit_ingest.sources.single import Single

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit_ingest.sources.tree import Tree


class AwayError(Exception):
    """This machine does not reach a place; others may. The text says why."""


def said_of(options: SourceOptions, *, found: bool, sync: bool) -> dict[str, object]:
    """Write down what is said of a place's files; patterns have done their work by then."""
    records = options.records
    return {
        "found": found,
        "hidden": options.hidden,
        "metadata": dict(options.metadata),
        "records": None
        if records is None
        else {
            "text": list(records.text),
            "title": records.title,
            "id": records.id,
            "metadata": list(records.metadata),
            "suffix": records.suffix,
        },
        "sync": sync,
        "title": options.title,
    }


class PlaceAgain:
    """A place that files were found in, as this machine reaches it. Raises AwayError."""

    def __init__(self, root: str, said: Mapping[str, Any], settings: Settings) -> None:
        self._root = root
        self._settings = settings
        self._found = bool(said["found"])
        self.sync = bool(said["sync"])
        self._options = _options(said)
        self._tree = None if scheme_of(root) in {"http", "https"} else _tree(root)

    def listing(self, path: str) -> Listing | None:
        """Return what there is to take of one file; None where it has vanished.

        A folder that is missing, or in which there is nothing, is away: others may reach it.
        """
        if self._tree is None:
            try:
                return find([self._root], self._options, settings=self._settings)
            except UsageError as error:  # the web is switched off here
                raise AwayError(str(error)) from error
        try:
            if not self._tree.has(path):
                siblings = self._tree.names("")
                if not (siblings.folders or siblings.files):
                    raise AwayError(f"there is nothing in {self._root!r}: is it mounted?")
                return None
        except IngestError as error:
            raise AwayError(f"{self._root!r} cannot be reached: {error.reason}") from error
        place: Place = Single(self._tree, path, self._options, in_folder=self._found)
        return Listing([place], self._options)


def _tree(root: str) -> Tree:
    if not (scheme := scheme_of(root)):
        return LocalTree(root)
    from ragkit_ingest.sources.remote import tree

    try:
        return tree(root, scheme)
    except UsageError as error:  # its driver is not installed here, or has no credentials
        raise AwayError(str(error)) from error


def _options(said: Mapping[str, Any]) -> SourceOptions:
    records = cast("Mapping[str, Any] | None", said["records"])
    return SourceOptions(
        hidden=bool(said["hidden"]),
        title=str(said["title"]),
        metadata=dict(said["metadata"]),
        records=None
        if records is None
        else RecordFields(
            tuple(records["text"]),
            records["title"],
            records["id"],
            tuple(records["metadata"]),
            records["suffix"],
        ),
    )
