"""Read the XML of a zip-based document format that is not Office's own: EPUB, OpenDocument.

Members inflate when asked for, on one budget. A document type may be named, as older books do, but
nothing of it is loaded, and none may declare entities.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ragkit.errors import IngestError
from ragkit_ingest.parse.zipped import Zip

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_ENTITY = re.compile(
    b"|".join(re.escape("<!ENTITY".encode(name)) for name in ("ascii", "utf-16-le", "utf-16-be"))
)


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
        from lxml import etree

        if name not in self._members:
            return None
        data = self.read(name)
        if _ENTITY.search(data):
            raise IngestError("parse", f"a DOCTYPE that declares entities in its member {name!r}")
        parser = etree.XMLParser(
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            remove_comments=True,
            remove_pis=True,
        )
        try:
            root: Element = etree.fromstring(data, parser)
        except etree.XMLSyntaxError as error:
            message = " ".join(str(error.msg).split())
            raise IngestError("parse", f"damaged XML in its member {name!r}: {message}") from error
        return root
