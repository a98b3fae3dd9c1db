"""Read the XML of a zip-based document format that is not Office's own: EPUB, OpenDocument.

Members inflate when asked for, on one budget.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragkit_ingest.parse.xmltree import root_of
from ragkit_ingest.parse.zipped import Zip

if TYPE_CHECKING:
    from lxml.etree import _Element as Element


class XmlZip:
    """A zip archive and the names of its members."""

    def __init__(self, data: bytes, budget: int) -> None:
        """Open it. Raises IngestError for an archive that is damaged or hostile."""
        self._zip = Zip(data, budget)
        self._members = {info.filename.lstrip("/"): info for info in self._zip.infos}

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def read(self, name: str) -> bytes:
        """Inflate a member that is there."""
        return self._zip.read(self._members[name])

    def xml(self, name: str) -> Element | None:
        """Parse a member as XML; None when there is none of that name."""
        return root_of(self.read(name), name) if name in self._members else None
