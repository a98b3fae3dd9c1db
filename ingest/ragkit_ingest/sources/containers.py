"""Unpack archives and mails into items, one after the other."""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from ragkit.documents.formats import ARCHIVES, suffix_of
from ragkit.errors import IngestError
from ragkit_ingest.parse import CONTAINERS, MEDIA_TYPES
from ragkit_ingest.parser.spool import Part
from ragkit_ingest.run.skipped import HIDDEN
from ragkit_ingest.sources.item import Item, Value
from ragkit_ingest.sources.items_of_file import (
    Container,
    File,
    Taking,
    broken,
    find_sidecar,
    has_hidden,
    stem_of,
)
from ragkit_ingest.sources.sidecar import is_sidecar
from ragkit_ingest.sources.sizes import TooLargeError

INSIDE: Final = "!/"  # between a container's URI and the path in it
_MAX_DEPTH: Final = 2  # arbitrary: a mail in a mail, an archive in a mail, a mail in an archive
_MAILBOX: Final = ".mbox"
_MAX_NAME_CHARS: Final = 500  # arbitrary; of a path in a container

Unpack = Callable[[bytes, str], list[tuple[str, Part]]]


@dataclass(frozen=True, slots=True)
class _Within:
    """A container in another one, which is unpacked when the rest of that has been handed on."""

    uri: str
    suffix: str
    metadata: Mapping[str, Value]
    part: Part


def expanded(item: Item, data: bytes, unpack: Unpack) -> Iterator[Item]:
    """Unpack a container and return the things in it, then those in containers in it, one by one.

    `unpack` takes bytes and a suffix. Members that are hidden or of unknown formats are noted
    with the files that the listing skipped. A member is read when the thing is that it became.
    Raises IngestError for a container that cannot be unpacked; one inside it that cannot is a thing
    whose reading fails.
    """
    taking = item.taking if isinstance(item, Container) and item.taking else Taking()
    try:
        members = unpack(data, item.suffix)
    except IngestError:
        taking.passed.lose(item.uri)
        raise
    taking.passed.enter(item.uri)
    taking = Taking(taking.options, taking.passed, item.metadata)
    return _members(item.uri, members, unpack, taking, (item.suffix,))


def _members(
    uri: str,
    members: Sequence[tuple[str, Part]],
    unpack: Unpack,
    taking: Taking,
    inside: tuple[str, ...],
) -> Iterator[Item]:
    named = dict(_named(members))
    del members
    within: deque[_Within] = deque()
    for path in list(named):
        if has_hidden(path) and not taking.options.hidden:
            taking.passed.skip(uri + INSIDE + path, HIDDEN)
        elif _is_taken(path, taking):
            yield from _entries(uri, path, named, taking, inside, within)
    named.clear()
    while within:
        yield from _nested(within.popleft(), unpack, taking, inside)


def _is_taken(path: str, taking: Taking) -> bool:
    if is_sidecar(path.rpartition("/")[2]):
        return False
    return taking.options.hidden or not path.startswith("__MACOSX/")


def _entries(
    uri: str,
    path: str,
    named: dict[str, Part],
    taking: Taking,
    inside: tuple[str, ...],
    within: deque[_Within],
) -> Iterator[Item]:
    """Take a member out of those that there are; put one that holds others `within`."""
    part, uri, suffix = named.pop(path), uri + INSIDE + path, suffix_of(path)
    if reason := _refusal(suffix, inside):
        taking.passed.lose(uri)
        yield broken(uri, reason, suffix)
        return
    sidecar = find_sidecar(path, named, partial(_read, named))
    read, name = partial(_read_part, part), path.rpartition("/")[2]
    file = File(uri, name, read, lambda: io.BytesIO(part.read()), sidecar=sidecar, in_folder=True)
    for entry in taking.items(file):
        if suffix not in CONTAINERS or suffix in MEDIA_TYPES:
            yield entry
        if suffix in CONTAINERS and isinstance(entry, Container):
            within.append(_Within(entry.uri, suffix, entry.metadata, part))


def _nested(
    member: _Within, unpack: Unpack, taking: Taking, inside: tuple[str, ...]
) -> Iterator[Item]:
    try:
        members = unpack(member.part.read(), member.suffix)
    except IngestError as error:
        taking.passed.lose(member.uri)
        if member.suffix in MEDIA_TYPES:  # a mail fails by itself
            return iter(())
        return iter([broken(member.uri, error.reason, member.suffix)])
    taking.passed.enter(member.uri)
    taking = Taking(taking.options, taking.passed, member.metadata)
    return _members(member.uri, members, unpack, taking, (*inside, member.suffix))


def _refusal(suffix: str, inside: tuple[str, ...]) -> str:
    """Say why a member is not taken; nothing where it is."""
    # A mailbox is a row of mails: it adds no depth of its own.
    if (
        sum(outer != _MAILBOX for outer in inside) > _MAX_DEPTH
        and suffix in CONTAINERS.keys() | MEDIA_TYPES.keys()
    ):
        return f"in more than {_MAX_DEPTH} containers, one in the other: unpack them first"
    if suffix in ARCHIVES and not ARCHIVES.isdisjoint(inside):
        return "an archive in an archive: unpack the outer one first"
    return ""


def _read(named: dict[str, Part], path: str, max_bytes: int) -> bytes:
    return _read_part(named[path], max_bytes)


def _read_part(part: Part, max_bytes: int) -> bytes:
    if part.size > max_bytes:
        raise TooLargeError(part.size, max_bytes)
    return part.read()


def _named(members: Sequence[tuple[str, Part]]) -> Iterator[tuple[str, Part]]:
    """Give each member a path that leads nowhere else, and that no other one has."""
    counts: dict[str, int] = {}
    for name, part in members:
        parts = name.replace("\\", "/").split("/")
        path = "/".join(step for step in parts if step not in {"", ".", ".."})
        path = path[-_MAX_NAME_CHARS:].lstrip("/") or "unnamed"
        counts[path] = count = counts.get(path, 0) + 1
        if count > 1:
            stem, suffix = stem_of(path), suffix_of(path)
            while path in counts:
                path = f"{stem} ({count}){suffix}"
                count += 1
            counts[path] = 1
        yield path, part
