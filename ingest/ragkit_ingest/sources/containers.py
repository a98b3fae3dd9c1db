"""The files in an archive or a mail, as things to take in.

It knows how deep they may lie in each other, and nothing of how a container is read.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from ragkit.errors import IngestError
from ragkit_ingest.items import Item
from ragkit_ingest.parse import CONTAINERS, MEDIA_TYPES
from ragkit_ingest.sources.sidecar import is_sidecar
from ragkit_ingest.sources.sizes import bounded, in_hand
from ragkit_ingest.sources.taking import (
    Container,
    File,
    Taking,
    beside,
    broken,
    has_hidden,
    stem_of,
    suffix_of,
)

INSIDE: Final = "!/"  # between a container's URI and the path in it
_MAX_DEPTH: Final = 2  # arbitrary: a mail in a mail, an archive in a mail, a mail in an archive
_MAX_NAME_CHARS: Final = 500  # arbitrary; of a path in a container

Unpack = Callable[[bytes, str], list[tuple[str, bytes]]]


def expanded(item: Item, data: bytes, unpack: Unpack) -> Iterator[Item]:
    """Unpack a container and return the things in it, and in containers in it, one by one.

    `unpack` takes bytes and a suffix. Members of unknown formats are counted with those that the
    listing passed over. Raises IngestError for a container that cannot be unpacked; one inside it
    that cannot is a thing whose reading fails.
    """
    taking = item.taking if isinstance(item, Container) and item.taking else Taking()
    try:
        members = unpack(data, item.suffix)
    except IngestError:
        taking.passed.lose(item.uri)
        raise
    return _members(item, members, unpack, taking, (item.suffix,))


def _members(
    item: Item,
    members: Sequence[tuple[str, bytes]],
    unpack: Unpack,
    taking: Taking,
    inside: tuple[str, ...],
) -> Iterator[Item]:
    taking = Taking(taking.options, taking.passed, item.metadata)
    named = dict(_named(members))
    for path, data in named.items():
        if not taking.options.hidden and (has_hidden(path) or path.startswith("__MACOSX/")):
            continue
        name = path.rpartition("/")[2]
        uri = item.uri + INSIDE + path
        suffix = suffix_of(name)
        if is_sidecar(name):
            continue
        reason = _refusal(suffix, inside)
        if reason:
            taking.passed.lose(uri)
            yield broken(uri, reason, suffix)
            continue
        sidecar = beside(path, named, partial(_read, named))
        opened = partial(io.BytesIO, data)
        file = File(uri, name, in_hand(data), opened, sidecar=sidecar, found=True)
        for found in taking.items(file):
            if suffix not in CONTAINERS or suffix in MEDIA_TYPES:
                yield found
            if suffix in CONTAINERS and isinstance(found, Container):
                yield from _nested(found, data, unpack, taking, (*inside, suffix))


def _nested(
    found: Item, data: bytes, unpack: Unpack, taking: Taking, inside: tuple[str, ...]
) -> Iterator[Item]:
    try:
        members = unpack(data, found.suffix)
    except IngestError as error:
        taking.passed.lose(found.uri)
        if found.suffix not in MEDIA_TYPES:  # a mail fails by itself
            yield broken(found.uri, error.reason, found.suffix)
        return
    yield from _members(found, members, unpack, taking, inside)


def _refusal(suffix: str, inside: tuple[str, ...]) -> str:
    """Say why a member is not taken; nothing where it is."""
    if len(inside) > _MAX_DEPTH and suffix in CONTAINERS.keys() | MEDIA_TYPES.keys():
        return f"in more than {_MAX_DEPTH} containers, one in the other: unpack them first"
    if _is_archive(suffix) and any(map(_is_archive, inside)):
        return "an archive in an archive: unpack the outer one first"
    return ""


def _is_archive(suffix: str) -> bool:
    """Tell archives from mails, which have a text of their own."""
    return suffix in CONTAINERS and suffix not in MEDIA_TYPES


def _read(named: dict[str, bytes], path: str, max_bytes: int) -> bytes:
    return bounded(named[path], max_bytes)


def _named(members: Sequence[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """Give each member a path that leads nowhere else, and that no other one has."""
    seen: dict[str, int] = {}
    for name, data in members:
        parts = name.replace("\\", "/").split("/")
        path = "/".join(part for part in parts if part not in {"", ".", ".."})
        path = path[-_MAX_NAME_CHARS:].lstrip("/") or "unnamed"
        seen[path] = count = seen.get(path, 0) + 1
        if count > 1:
            stem, suffix = stem_of(path), suffix_of(path)
            while path in seen:
                path = f"{stem} ({count}){suffix}"
                count += 1
            seen[path] = 1
        yield path, data
