"""Recognise the kind of each place that a user names, and build one listing of all.

A path, "-" for standard input, the URL of a remote store, or that of a web page. It lists nothing
itself.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final
from urllib.parse import unquote

from ragkit.errors import NotFoundError, UsageError
from ragkit_ingest.sources.files import LocalTree
from ragkit_ingest.sources.listing import Listing, Place
from ragkit_ingest.sources.options import SourceOptions
from ragkit_ingest.sources.single import Single
from ragkit_ingest.sources.standard_input import StandardInput
from ragkit_ingest.sources.text import Text
from ragkit_ingest.sources.walk import Folder

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit_ingest.sources.fetch import Access

Named = Path | str | Text
Places = Sequence[Named] | Named  # one place, or several

STANDARD_INPUT: Final = "-"
_URL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)(?:::|://)")
_MAX_FILE_BYTES: Final = 512 << 20  # where there are no settings to say it


def find(
    places: Sequence[str | Text],
    options: SourceOptions | None = None,
    *,
    settings: Settings | None = None,
    access: Access | None = None,
    stdin: BinaryIO | None = None,
) -> Listing:
    """Check the places that a user named; what is in them is listed when it is asked for.

    `access` is how web pages are reached, `stdin` what "-" reads. Raises NotFoundError for a path
    that is not there, UsageError for a place that cannot be used.
    """
    options = options or SourceOptions()
    if places.count(STANDARD_INPUT) > 1:
        raise UsageError("Standard input is named twice: name it once.")
    if options.name and STANDARD_INPUT not in places:
        raise UsageError("A name is for standard input, which is not asked for: add -.")
    if options.title and len(places) != 1:
        raise UsageError("A title is for a single document: name one file.")
    checked: list[Place] = []
    for place in dict.fromkeys(places):
        if isinstance(place, Text):
            checked.append(place)
        elif place == STANDARD_INPUT:
            limit = settings.max_file_mb << 20 if settings else _MAX_FILE_BYTES
            stream = stdin or sys.stdin.buffer
            checked.append(StandardInput(stream, options, max_bytes=limit))
        elif (scheme := _URL.match(place)) and not _is_file_here(place):
            checked.append(_remote(place, scheme[1].lower(), options, settings, access))
        else:
            checked.append(local(place, options))
    return Listing(checked, options)


def several(places: Places) -> list[str | Text]:
    """List places, paths as strings; a single one is one place.

    >>> several("docs/leave.md"), several([Path("docs"), "-"])
    (['docs/leave.md'], ['docs', '-'])
    """
    listed = [places] if isinstance(places, Named) else places
    return [place if isinstance(place, Text) else str(place) for place in listed]


def scheme_of(root: str) -> str:
    """Return the scheme of an address, in lower case; nothing for a path.

    >>> scheme_of("s3://bucket/docs"), scheme_of("/srv/docs")
    ('s3', '')
    """
    match = None if root.startswith("/") else _URL.match(root)
    return match[1].lower() if match else ""


def _is_file_here(place: str) -> bool:
    """Tell a file such as Foo::Bar.md from the addresses that fsspec writes with colons."""
    return "://" not in place and "\0" not in place and os.path.lexists(place)


def local(path: str, options: SourceOptions) -> Place:
    """Take a path as a place. Raises NotFoundError."""
    if "\0" in path or not os.path.lexists(path):
        raise NotFoundError(f"There is no file or folder {path!r}: check the path.")
    if os.path.isdir(path):
        if options.title:
            raise UsageError(f"A title is for a single document: {path!r} is a folder.")
        return Folder(LocalTree(path), options)
    folder, name = os.path.split(os.path.abspath(path))
    return Single(LocalTree(folder), name, options)


def _remote(
    place: str,
    scheme: str,
    options: SourceOptions,
    settings: Settings | None,
    access: Access | None,
) -> Place:
    if scheme == "file":
        host, _, path = place.partition("://")[2].partition("/")
        if host not in {"", "localhost"}:
            raise UsageError(f"{place!r} is on another machine: write file:///folder/file.")
        return local("/" + unquote(path), options)
    if scheme in {"http", "https"}:
        if settings is None or settings.web != "on":
            raise UsageError(
                "Web pages are not fetched unless that is switched on: set RAGKIT_WEB=on."
            )
        from ragkit_ingest.sources.web import Page

        return Page(place, options, access)
    from ragkit_ingest.sources.remote import remote

    return remote(place, scheme, options)
