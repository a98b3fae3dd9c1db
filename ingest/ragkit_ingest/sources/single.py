"""A single file named by the user: read even where it is hidden or ignored."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ragkit.documents.formats import suffix_of
from ragkit.errors import IngestError
from ragkit_ingest.run.skipped import EXCLUDED
from ragkit_ingest.sources.item import Item
from ragkit_ingest.sources.items_of_file import File, Taking, broken, find_sidecar
from ragkit_ingest.sources.options import SourceOptions
from ragkit_ingest.sources.skipped import is_in
from ragkit_ingest.sources.tree import Tree
from ragkit_ingest.sources.walk import Chosen, stamp_of, uri_name


class Single:
    """A file in a folder as a place that things are taken from."""

    def __init__(
        self, tree: Tree, name: str, options: SourceOptions, *, in_folder: bool = False
    ) -> None:
        self._tree = tree
        self.root = tree.root
        self._name = name
        self._in_folder = in_folder
        self._title = options.title
        self._chosen = Chosen(options)

    def items(self, taking: Taking) -> Iterator[Item]:
        """Yield the file, or what it holds."""
        uri = self._tree.uri(self._name)
        if not self._chosen.has(self._name):
            taking.passed.skip(uri, EXCLUDED)
            return
        if suffix_of(self._name) == ".parquet" and taking.options.records is None:
            yield broken(uri, "records without a text: say which field it is with --text")
            return
        sidecar = find_sidecar(self._name, _SiblingNames(self._tree), self._tree.read)
        read, opened = partial(self._tree.read, self._name), partial(self._tree.open, self._name)
        stamp = partial(stamp_of, self._tree, self._name, sidecar, "")
        file = File(
            uri, uri_name(uri), read, opened, "", sidecar, self._in_folder, self._name, stamp
        )
        yield from taking.items(file, title=self._title)

    def covers(self, uri: str) -> bool:
        """Say whether a URI is this file, or a record or member of it."""
        return is_in(uri, self._tree.uri(self._name))


class _SiblingNames:
    """The names in a folder, asked for one by one: it may have many that do not matter."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def __contains__(self, name: object) -> bool:
        try:
            self._tree.open(str(name)).close()
        except IngestError:
            return False
        return True
