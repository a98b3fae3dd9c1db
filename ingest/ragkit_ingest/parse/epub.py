"""Parse electronic books (.epub 2 and 3): the chapters in reading order, each a page of its own.

A chapter is what the HTML parser makes of it; one without a heading gets its title from the table
of contents. Pictures, styles and the book's own table of contents are left out.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING
from urllib.parse import unquote, urldefrag

from ragkit.errors import IngestError
from ragkit.types import ParsedText
from ragkit_ingest.parse.assembly import Assembly
from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.html import page
from ragkit_ingest.parse.office.archive import attribute, child, children, local
from ragkit_ingest.parse.options import ParseOptions
from ragkit_ingest.parse.titles import first_title
from ragkit_ingest.parse.zippedxml import XmlZip

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lxml.etree import _Element as Element

NO_TEXT = "no text in it: a book of pictures needs OCR"
_CHAPTERS = frozenset({"application/xhtml+xml", "text/html", "application/x-dtbook+xml"})
_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_MAX_VALUE_CHARS = 200
_KEYS = {"creator": "author", "language": "book_language", "publisher": "publisher"}


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse a book. Raises IngestError for one that is damaged, encrypted or hostile."""
    archive = XmlZip(data, options.unzipped_bytes)
    path = _package_path(archive)
    package = archive.xml(path)
    book = _Book(package, path)
    locked = _locked(archive)
    titles = _titles(archive, book)
    assembly = Assembly()
    for number, name in enumerate(book.spine, 1):
        if name in locked:
            reason = "encrypted by digital rights management (DRM): only its own reader opens it"
            raise IngestError("parse", reason)
        if name not in archive:
            assembly.notes["missing chapters"] += 1
            continue
        title = titles.get(name, "")
        chapter = page.parse_part(archive.read(name), options)
        assembly.page(number, title)
        if title and chapter.text.strip() and all(b.kind != "heading" for b in chapter.blocks):
            builder = Builder()
            builder.heading(1, title)
            assembly.add(builder.result())
        assembly.add(chapter)
    title, metadata = book.metadata()
    return assembly.result(title=title, metadata=metadata)


class _Book:
    """A book's package document: what is in it, in which order, and who made it."""

    def __init__(self, package: Element | None, path: str) -> None:
        self._package = package
        self._folder = posixpath.dirname(path)
        items: dict[str, tuple[str, str]] = {}  # by id: member name, media type
        self.nav = self.ncx = ""
        for item in children(package, "manifest"):
            name = self.name(attribute(item, "href") or "")
            media_type = attribute(item, "media-type") or ""
            items[attribute(item, "id") or ""] = (name, media_type)
            if "nav" in (attribute(item, "properties") or "").split():
                self.nav = name
            elif media_type == "application/x-dtbncx+xml":
                self.ncx = name
        names = (items.get(attribute(ref, "idref") or "") for ref in children(package, "spine"))
        self.spine = list(
            dict.fromkeys(
                item[0] for item in names if item and item[1] in _CHAPTERS and item[0] != self.nav
            )
        )

    def name(self, href: str, base: str | None = None) -> str:
        """Resolve a reference of the package, or of another member, to a member's name."""
        folder = self._folder if base is None else posixpath.dirname(base)
        path = posixpath.normpath(posixpath.join("/", folder, unquote(urldefrag(href)[0])))
        return path.lstrip("/")

    def metadata(self) -> tuple[str, dict[str, str]]:
        """Read title, author, language, publisher and date."""
        values: dict[str, list[str]] = {}
        for item in children(self._package, "metadata"):
            text = " ".join("".join(item.itertext()).split())[:_MAX_VALUE_CHARS]
            if local(item) == "meta" and attribute(item, "property") == "dcterms:modified":
                values.setdefault("modified", []).append(text)
            elif text:
                values.setdefault(local(item), []).append(text)
        title = first_title(*values.get("title", []))
        metadata = {key: ", ".join(values[name]) for name, key in _KEYS.items() if name in values}
        for name, key in (("date", "created"), ("modified", "modified")):
            if name in values:
                metadata[key] = values[name][0]
        return title, metadata


def _package_path(archive: XmlZip) -> str:
    for item in children(archive.xml(_CONTAINER), "rootfiles"):
        path = attribute(item, "full-path")
        if path and path in archive:
            return path
    raise IngestError("parse", "not an EPUB book: its archive names no package document")


def _locked(archive: XmlZip) -> frozenset[str]:
    """Name the members that are encrypted; fonts often are, and nobody needs them here."""
    root = archive.xml(_ENCRYPTION)
    names = (
        unquote(attribute(child(item, "CipherData", "CipherReference"), "URI") or "")
        for item in (root if root is not None else ())
    )
    return frozenset(name.lstrip("/") for name in names)


def _titles(archive: XmlZip, book: _Book) -> Mapping[str, str]:
    """Map member names to their titles in the table of contents.

    Of several entries that lead into one member, only one that leads to its beginning is its title.
    """
    titles: dict[str, str] = {}
    parts: dict[str, list[str]] = {}
    base = book.nav if book.nav in archive else book.ncx
    root = archive.xml(base)
    for href, text in () if root is None else _links(root):
        title = " ".join(text.split())[:_MAX_VALUE_CHARS]
        name = book.name(href, base)
        if title and not urldefrag(href)[1]:
            titles.setdefault(name, title)
        elif title:
            parts.setdefault(name, []).append(title)
    single = {
        name: parts_titles[0] for name, parts_titles in parts.items() if len(parts_titles) == 1
    }
    return single | titles


def _links(root: Element) -> Iterator[tuple[str, str]]:
    """Give the references of a table of contents, and what they are called."""
    for element in root.iter():
        if local(element) == "navPoint":
            label = child(element, "navLabel")
            source = attribute(child(element, "content"), "src") or ""
            yield source, "" if label is None else "".join(label.itertext())
        elif local(element) == "a":
            yield attribute(element, "href") or "", "".join(element.itertext())
