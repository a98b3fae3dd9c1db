"""Walk a folder in a fixed order, by ignore files, hidden files and the user's patterns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from ragkit.errors import IngestError
from ragkit_ingest.run.skipped import EXCLUDED, HIDDEN, IGNORED
from ragkit_ingest.sources.item import Item, Stamp
from ragkit_ingest.sources.items_of_file import File, Taking, broken, find_sidecar, has_hidden
from ragkit_ingest.sources.options import SourceOptions
from ragkit_ingest.sources.patterns import Pattern, decide, pattern, patterns
from ragkit_ingest.sources.sidecar import Sidecar
from ragkit_ingest.sources.sizes import TooLargeError
from ragkit_ingest.sources.skipped import is_in
from ragkit_ingest.sources.tree import Tree

IGNORE_FILE: Final = ".ragkitignore"
_MAX_IGNORE_BYTES: Final = 1 << 16  # arbitrary, as the next
_MAX_DEPTH: Final = 200  # on Linux a path of that many folders is hardly longer than it may be

_Rules = tuple[str, tuple[Pattern, ...]]  # and the folder that they were written for


class Folder:
    """A folder as a place that things are taken from."""

    def __init__(self, tree: Tree, options: SourceOptions) -> None:
        self._tree = tree
        self.root = tree.root
        self._hidden = options.hidden
        self._chosen = Chosen(options)

    def items(self, taking: Taking) -> Iterator[Item]:
        """Yield what is in the folder and below it: a folder's files first, then its folders."""
        waiting: list[tuple[str, tuple[_Rules, ...]]] = [("", ())]
        while waiting:
            folder, rules = waiting.pop()
            try:
                if folder.count("/") >= _MAX_DEPTH:
                    raise IngestError("read", f"more than {_MAX_DEPTH} folders in each other")
                names = self._tree.names(folder)
                folders, files = names.folders, names.files
                if not folder and not any(map(self._is_shown, [*folders, *files])):
                    taking.passed.find_empty(self._tree.uri(""))
                if IGNORE_FILE in files:
                    rules += (self._rules(folder),)
            except IngestError as error:
                uri = self._tree.uri(folder)
                taking.passed.lose(uri)
                yield broken(uri, error.reason)
                continue
            taking.passed.enter(self._tree.uri(folder))
            for name, kind in names.special.items():
                taking.passed.skip(self._tree.uri(_join(folder, name)), kind)
            yield from self._files(folder, files, rules, taking)
            entered = [
                path
                for path in (_join(folder, name) for name in folders)
                if not self._skips(path, rules, taking, is_folder=True)
            ]
            waiting += [(path, rules) for path in reversed(entered)]

    def covers(self, uri: str) -> bool:
        """Say whether a URI belongs here and is not left out by the user's patterns.

        What an ignore file leaves out belongs here all the same: it is to be forgotten.
        """
        root = self._tree.uri("")
        if not is_in(uri, root) or uri == root:
            return False
        below = uri[len(root) :].lstrip("/")
        return self._chosen.has_uri(below) and (self._hidden or not has_hidden(below))

    def _files(
        self, folder: str, files: Sequence[str], rules: tuple[_Rules, ...], taking: Taking
    ) -> Iterator[Item]:
        names = frozenset(files)
        for name in files:
            path = _join(folder, name)
            if name == IGNORE_FILE or self._skips(path, rules, taking, is_folder=False):
                continue
            sidecar = find_sidecar(name, names, partial(self._read_sibling, folder))
            read, opened = partial(self._tree.read, path), partial(self._tree.open, path)
            stamp = partial(stamp_of, self._tree, path, sidecar, folder)
            uri = self._tree.uri(path)
            file = File(uri, uri_name(uri), read, opened, "", sidecar, True, path, stamp)
            yield from taking.items(file)

    def _read_sibling(self, folder: str, name: str, max_bytes: int) -> bytes:
        return self._tree.read(_join(folder, name), max_bytes)

    def _rules(self, folder: str) -> _Rules:
        """Read a folder's ignore file; one that cannot be read must not let everything through."""
        try:
            data = self._tree.read(_join(folder, IGNORE_FILE), _MAX_IGNORE_BYTES)
        except IngestError as error:
            text = (
                f"over {_MAX_IGNORE_BYTES >> 10} KB"
                if isinstance(error, TooLargeError)
                else error.reason
            )
            reason = f"left out, because its {IGNORE_FILE} cannot be read: {text}"
            raise IngestError("read", reason) from error
        return folder, patterns(data.decode("utf-8", "surrogateescape"))

    def _is_shown(self, name: str) -> bool:
        return self._hidden or not name.startswith(".")

    def _skips(
        self, path: str, rules: tuple[_Rules, ...], taking: Taking, *, is_folder: bool
    ) -> bool:
        """Say whether a file or folder is skipped, and note it."""
        reason = self._refusal(path, rules, is_folder=is_folder)
        if reason:
            taking.passed.skip(self._tree.uri(path), reason)
        return bool(reason)

    def _refusal(self, path: str, rules: tuple[_Rules, ...], *, is_folder: bool) -> str:
        """Ask the nearest ignore file that has something to say, and the user's patterns."""
        if not self._is_shown(uri_name(path)):
            return HIDDEN
        for base, rule_patterns in reversed(rules):
            relative = path[len(base) + 1 if base else 0 :]
            decision = decide(rule_patterns, relative, is_folder=is_folder)
            if decision is not None:
                if decision:
                    return IGNORED
                break
        chosen = self._chosen.may_go_into(path) if is_folder else self._chosen.has(path)
        return "" if chosen else EXCLUDED


class Chosen:
    """Which paths the user's own patterns let through."""

    def __init__(self, options: SourceOptions) -> None:
        self._include = _read(options.include)
        self._exclude = _read(options.exclude)

    def may_go_into(self, folder: str) -> bool:
        """Say whether there may be something to take in a folder."""
        return not decide(self._exclude, folder, is_folder=True)

    def has(self, path: str) -> bool:
        """Say whether a file is let through: what is said of a folder goes for what is in it."""
        if decide(self._exclude, path, is_folder=False):
            return False
        return not self._include or _any(self._include, path)

    def has_uri(self, path: str) -> bool:
        """Say the same of what is stored, which may be a record or a member of a file."""
        cut = {path, path.partition("!/")[0], path.partition("#")[0]}
        if any(_any(self._exclude, part) for part in cut):
            return False
        return not self._include or any(_any(self._include, part) for part in cut)


def stamp_of(tree: Tree, path: str, sidecar: Sidecar | None, folder: str) -> Stamp | None:
    """Look at a file and at what is said of it from outside."""
    stamps = [tree.stamp(path)]
    if sidecar is not None:
        stamps += [tree.stamp(_join(folder, name)) for name in sidecar.names]
    existing = [stamp for stamp in stamps if stamp is not None]
    if len(existing) < len(stamps):
        return None
    times = [stamp.changed_at for stamp in existing if stamp.changed_at is not None]
    return Stamp(
        tuple(part for stamp in existing for part in (len(stamp.mark), *stamp.mark)),
        changed_at=max(times) if len(times) == len(existing) else None,
        is_exact=all(stamp.is_exact for stamp in existing),
    )


def uri_name(uri: str) -> str:
    """Return the name of the file that a URI is about."""
    return uri.rstrip("/").rpartition("/")[2]


def _any(rules: Sequence[Pattern], path: str) -> bool:
    """Say whether a file or a folder above it is picked."""
    if decide(rules, path, is_folder=False):
        return True
    folders = (path[:at] for at in range(len(path)) if path[at] == "/")
    return any(decide(rules, folder, is_folder=True) for folder in folders)


def _read(globs: Sequence[str]) -> tuple[Pattern, ...]:
    return tuple(rule for text in globs if (rule := pattern(text)) is not None)


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
