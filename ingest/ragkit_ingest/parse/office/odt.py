"""Parse OpenDocument files: text (.odt), sheets (.ods) and slides (.odp), and the same as one XML
text (.fodt, .fods, .fodp).

Headings, lists, tables and footnotes; each sheet and slide is a page. Comments and tracked changes
go by the options. Headers, footers and pictures are left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ragkit.errors import IngestError
from ragkit.types import ParsedText
from ragkit_ingest.parse.assembly import Assembly
from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.flow import Flow
from ragkit_ingest.parse.office.archive import attribute, children, local
from ragkit_ingest.parse.office.odfbody import Body
from ragkit_ingest.parse.options import ParseOptions
from ragkit_ingest.parse.titles import first_title
from ragkit_ingest.parse.xmltree import root_of
from ragkit_ingest.parse.zippedxml import XmlZip

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_XML = re.compile(rb"[\xef\xbb\xbf\xfe\xff\s\0]*<")  # in any Unicode encoding
_MANIFEST, _CONTENT, _META = "META-INF/manifest.xml", "content.xml", "meta.xml"
_PAGED = {"spreadsheet": "table", "presentation": "page"}  # body: what its pages are
_MAX_VALUE_CHARS = 200


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse an OpenDocument file. Raises IngestError for one that is damaged or encrypted."""
    root, meta = _flat(data) if _XML.match(data) else _parts(data, options)
    reader = Body(root, options)
    assembly = Assembly()
    for body in children(root, "body")[:1]:
        kind = _PAGED.get(local(body))
        if kind is None:
            _add(assembly, reader, body)
        pages = (part for part in body if local(part) == kind)
        for number, part in enumerate(pages, 1):
            assembly.page(number, attribute(part, "name") or "")
            _add(assembly, reader, part)
    assembly.notes.update(reader.notes)
    title, metadata = _metadata(meta)
    return assembly.result(title=first_title(title, reader.title), metadata=metadata)


def _parts(data: bytes, options: ParseOptions) -> tuple[Element, Element | None]:
    """Open the archive that an OpenDocument file is; return its content and what describes it."""
    archive = XmlZip(data, options.unzipped_bytes)
    manifest = archive.xml(_MANIFEST)
    if manifest is not None and any(local(item) == "encryption-data" for item in manifest.iter()):
        raise IngestError("parse", "encrypted: it needs a password; save it without one")
    root = archive.xml(_CONTENT)
    if root is None:
        raise IngestError("parse", "not an OpenDocument file: its archive has no content.xml")
    return root, archive.xml(_META)


def _flat(data: bytes) -> tuple[Element, Element]:
    """Parse a file that is one XML text: content and description have the same root."""
    root = root_of(data)
    if local(root) != "document":
        raise IngestError("parse", "not an OpenDocument file: its XML is no document of one")
    return root, root


def _add(assembly: Assembly, reader: Body, part: Element) -> None:
    """Add what stands in a whole text, on a sheet or on a slide."""
    flow = Flow()
    try:
        flow.open("table" if local(part) == "table" else "block")
        reader.read(part, flow)
        flow.close()
    except RecursionError as error:
        raise IngestError("parse", "tables or lists nested too deeply") from error
    builder = Builder()
    flow.end().write(builder)
    assembly.add(builder.result())


def _metadata(root: Element | None) -> tuple[str, dict[str, str]]:
    """Read title, author and dates."""
    metadata: dict[str, str] = {}
    for item in children(root, "meta"):
        metadata.setdefault(local(item), " ".join((item.text or "").split())[:_MAX_VALUE_CHARS])
    values = {
        "author": metadata.get("initial-creator") or metadata.get("creator", ""),
        "created": metadata.get("creation-date", ""),
        "modified": metadata.get("date", ""),
    }
    return metadata.get("title", ""), {key: value for key, value in values.items() if value}
