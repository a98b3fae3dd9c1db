"""The hash of what a document was made of: its bytes, and title and metadata from the user."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from itertools import chain, combinations
from typing import Any, Final

# What a document's metadata may have that the user did not give: what parsers of PDFs find, and
# what the search for near duplicates adds.
_NOT_GIVEN: Final = (
    *("author", "created", "modified"),
    *("near_duplicate_of", "near_duplicate_similarity"),
)


def content_hash(data: bytes, title: str = "", metadata: Mapping[str, Any] | None = None) -> str:
    """Return the SHA-256 of a file's bytes and of the title and metadata that the user gave it.

    Without these it is the SHA-256 of the bytes alone, as that of an upload always is.
    """
    digest = hashlib.sha256(data)
    if title or metadata:
        digest.update(_encode(title, metadata or {}))
    return digest.hexdigest()


def is_content(data: bytes, hashed: str, title: str, metadata: Mapping[str, Any]) -> bool:
    """Tell whether a document of this hash, title and metadata was made of these bytes.

    The document does not tell which part of its title and metadata the user gave, so each choice
    that is possible is tried.
    """
    digest = hashlib.sha256(data)
    if digest.hexdigest() == hashed:
        return True
    for metadata_given in _possible(title, metadata):
        tried = digest.copy()
        tried.update(metadata_given)
        if tried.hexdigest() == hashed:
            return True
    return False


def _encode(title: str, metadata: Mapping[str, Any]) -> bytes:
    return json.dumps([title, sorted(metadata.items())], ensure_ascii=False).encode()


def _possible(title: str, metadata: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield each title and metadata that the user may have given: at most 64."""
    added = [name for name in _NOT_GIVEN if name in metadata]
    choices = chain.from_iterable(combinations(added, n) for n in range(len(added) + 1))
    for absent in choices:
        present = {name: value for name, value in metadata.items() if name not in absent}
        for named in {"", title}:
            yield _encode(named, present)
