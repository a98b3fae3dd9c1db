"""Add documents to a collection by ingestion, which the core knows by name alone."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Final

from ragkit.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from ragkit.contracts import IngestResult
    from ragkit.embedders import Embedders

PART: Final = "ragkit_ingest"  # the core imports no part; this module is loaded when it is called


def add_to(
    embedders: Embedders,
    collection: str,
    path: str | os.PathLike[str] | None,
    *,
    text: str | None,
    title: str,
) -> IngestResult:
    """Take a file, a folder or a text into a collection, with models that may be loaded already."""
    part = import_module(PART)
    if (path is None) == (text is None):
        raise UsageError(
            'add takes either a path or a text: add("contracts"), or'
            ' add(text="...", title="Leave policy").'
        )
    if path is None:
        place = part.Text(text, title)
    elif title:
        raise UsageError("a title is for a text: a file has its own, or its name.")
    else:
        place = _checked(path)
    result: IngestResult = part.ingest(
        place, settings=embedders.settings, collection=collection, embedders=embedders
    )
    return result


def _checked(path: str | os.PathLike[str]) -> str:
    """Return a path that is there, or an address. Raises NotFoundError."""
    place = os.fspath(path)
    is_address = "://" in place and len(place.split()) == 1
    if not is_address and ("\0" in place or not os.path.lexists(place)):
        raise NotFoundError(
            f"There is no file or folder {place!r:.80}: check the path. A text is added with"
            ' add(text="...", title="Leave policy").'
        )
    return place
