"""Open a zip-based office file that may be hostile: nothing unpacks beyond a budget, no XML
declares a document type."""

from __future__ import annotations

import io
import posixpath
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import unquote

from ragkit.errors import IngestError
from ragkit_ingest.parse.zipped import Zip

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")
# A document type can only hide where an entity could be declared; office files never have one.
_DOCTYPE = re.compile(
    b"|".join(re.escape("<!DOCTYPE".encode(name)) for name in ("ascii", "utf-16-le", "utf-16-be"))
)


class Archive:
    """An office file whose every member was inflated once, and counted, before it is used."""

    def __init__(self, data: bytes, budget: int) -> None:
        """Check the whole archive. Raises IngestError for one that is damaged or hostile."""
        if data.startswith(_OLE):
            locked = _ENCRYPTED_STREAM in data
            reason = "encrypted: it needs a password" if locked else "an old binary Office file"
            raise IngestError("parse", f"{reason}; save it without a password in today's format")
        self._zip = Zip(data, budget, unusual="which Office never uses")
        self._members = {info.filename.lstrip("/"): info for info in self._zip.infos}
        for info in self._zip.infos:
            for _ in self._zip.pieces(info):
                pass  # only counted

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def xml(self, name: str) -> Element | None:
        """Parse a member as XML; None when there is none of that name."""
        from lxml import etree

        if name not in self._members:
            return None
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True
        )
        try:
            root: Element = etree.fromstring(self._xml_bytes(name), parser)
        except etree.XMLSyntaxError as error:
            message = " ".join(str(error.msg).split())
            raise IngestError("parse", f"damaged XML in its member {name!r}: {message}") from error
        return root

    def rows(self, name: str, tag: str) -> Iterator[Element]:
        """Stream the elements of a tag from a large member; each is emptied after its turn."""
        from lxml import etree

        if name not in self._members:
            return
        source = io.BytesIO(self._xml_bytes(name))
        events = etree.iterparse(
            source, tag=f"{{*}}{tag}", resolve_entities=False, no_network=True, remove_comments=True
        )
        try:
            for _, element in events:
                yield element
                element.clear()
                while element.getprevious() is not None:
                    del element.getparent()[0]
        except etree.XMLSyntaxError as error:
            message = " ".join(str(error.msg).split())
            raise IngestError("parse", f"damaged XML in its member {name!r}: {message}") from error

    def related(self, part: str) -> dict[str, tuple[str, str]]:
        """Map a part's relation ids to (kind, member name); those that lead outside are left out.

        A kind is the last word of its type, which strict and transitional files share.
        """
        folder = posixpath.dirname(part)
        relations: dict[str, tuple[str, str]] = {}
        for relation in self._relations(part):
            target = relation.get("Target")
            if target and relation.get("TargetMode") != "External":
                kind = relation.get("Type", "").rpartition("/")[2]
                path = posixpath.normpath(posixpath.join("/", folder, unquote(target)))
                relations[relation.get("Id", "")] = (kind, path.lstrip("/"))
        return relations

    def links(self, part: str) -> dict[str, str]:
        """Map a part's relation ids to the addresses outside of the file that they lead to."""
        return {
            relation.get("Id", ""): relation.get("Target", "")
            for relation in self._relations(part)
            if relation.get("TargetMode") == "External"
        }

    def _relations(self, part: str) -> list[Element]:
        folder, name = posixpath.split(part)
        root = self.xml(posixpath.join(folder, "_rels", f"{name}.rels"))
        return [] if root is None else list(root)

    def parts(self, part: str, kind: str) -> list[str]:
        """List the members that a part relates to as `kind`."""
        return [name for relation, name in self.related(part).values() if relation == kind]

    def main_part(self) -> str:
        """Name the member that holds the document itself. Raises IngestError if there is none."""
        for name in self.parts("", "officeDocument"):
            if name in self:
                return name
        raise IngestError("parse", "not an Office document: its archive has no main part")

    def properties(self) -> tuple[str, dict[str, str]]:
        """Read the title and the author."""
        properties: dict[str, str] = {}
        for name in self.parts("", "core-properties")[:1]:
            for child in self.xml(name) if name in self else ():  # type: ignore[union-attr]
                properties[local(child)] = (child.text or "").strip()
        author = properties.get("creator", "")[:_MAX_AUTHOR_CHARS]
        return properties.get("title", ""), {"author": author} if author else {}

    def _xml_bytes(self, name: str) -> bytes:
        """Read a member that is to be parsed as XML, which may not declare entities."""
        data = self._zip.read(self._members[name])
        if _DOCTYPE.search(data):
            raise IngestError("parse", f"a DOCTYPE in its member {name!r}")
        return data


_MAX_AUTHOR_CHARS = 200


def local(element: Element) -> str:
    """Give an element's name without its namespace, of which Office has two sets."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def child(element: Element | None, *names: str) -> Element | None:
    """Follow a path of local names down, taking the first of each."""
    for name in names:
        if element is None:
            return None
        element = next((item for item in element if local(item) == name), None)
    return element


def children(element: Element | None, name: str) -> list[Element]:
    """List what stands in the first child of a name."""
    parent = child(element, name)
    return [] if parent is None else list(parent)


def attribute(element: Element | None, name: str) -> str | None:
    """Read an attribute by its local name, in whichever namespace it is."""
    if element is None:
        return None
    for key, value in element.attrib.items():
        if str(key).rpartition("}")[2] == name:
            return str(value)
    return None


def number(value: str | None, default: int = 0) -> int:
    """Read a small whole number that may be missing or nonsense."""
    return int(value) if value and re.fullmatch(r"-?\d{1,9}", value) else default
