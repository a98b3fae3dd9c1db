"""Metadata of an Office file: title, author, and when it was made and last saved."""

from __future__ import annotations

from ragkit_ingest.parse.dates import iso_date
from ragkit_ingest.parse.office.archive import Archive, local

_DATES = ("created", "modified")


def properties(archive: Archive) -> tuple[str, dict[str, str]]:
    """Return the title, and the metadata under the usual keys."""
    title, metadata = archive.properties()
    for name in archive.parts("", "core-properties")[:1]:
        root = archive.xml(name)
        for item in root if root is not None else ():
            date = iso_date(item.text or "") if local(item) in _DATES else ""
            if date:
                metadata[local(item)] = date
    return title, metadata
