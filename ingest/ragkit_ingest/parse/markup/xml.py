"""Parse XML as a stream of elements into Markdown-like text; DocBook, JATS, DITA and TEI by what
their elements mean, any other as records: a line "name: text" for each element without children.

No document type is loaded, no entity of a file's own is expanded, nothing is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html.entities import html5

from ragkit.errors import IngestError
from ragkit.text.normalise import clean
from ragkit.types import ParsedText
from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.decode import decode, lookup
from ragkit_ingest.parse.flow import Flow, collapse
from ragkit_ingest.parse.markup.xmlrecords import Records
from ragkit_ingest.parse.markup.xmlwords import DOCUMENTS, HEADINGS, INFOS, PARTS, WORDS
from ragkit_ingest.parse.options import ParseOptions

_DECLARED = re.compile(rb"""<\?xml[^>]{0,99}?encoding\s*=\s*["']([\w.:-]+)""")
_DECLARATION = re.compile(r"<\?xml\b[^>]{0,200}\?>")
_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]{1,31};)")
_OWN = frozenset({"amp;", "lt;", "gt;", "quot;", "apos;"})  # XML's, which the parser reads
_FEED_CHARS = 1 << 20
_MAX_DEPTH = 256  # the parser's own limit, which it does not keep when it is fed piece by piece
# What a person's name is made of.
_NAMES = frozenset("surname given-names firstname othername personname author".split())


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse an XML file. Raises IngestError for one that is damaged or declares entities."""
    from lxml import etree

    text = clean(_decode(data)).lstrip("\ufeff \t\n")
    if "<!DOCTYPE" in text and "<!ENTITY" in text:
        raise IngestError("parse", "a DOCTYPE that declares entities, which are never expanded")
    text = _ENTITY.sub(_character, _DECLARATION.sub("", text, count=1))
    walker = _Walker()
    parser = etree.XMLParser(
        target=walker, encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False
    )
    try:
        for start in range(0, len(text), _FEED_CHARS):
            parser.feed(text[start : start + _FEED_CHARS].encode())
        parser.close()
    except etree.XMLSyntaxError as error:
        raise IngestError("parse", f"damaged XML: {' '.join(str(error.msg).split())}") from error
    builder = Builder()
    walker.flow.end().write(builder)
    return builder.result(title=walker.title, metadata=walker.metadata())


def _decode(data: bytes) -> str:
    """Decode by the file's own word, if it keeps it; by what the bytes look like otherwise."""
    declared = _DECLARED.match(data)
    name = lookup(declared.group(1).decode("ascii", "replace")) if declared else None
    if name:
        try:
            return data.decode(name)
        except UnicodeDecodeError:
            pass
    return decode(data)


def _character(match: re.Match[str]) -> str:
    """Write out a character that HTML has a name for; the file's own DTD is not read."""
    name = match[1]
    return match[0] if name in _OWN else html5.get(name, match[0])


class _Walker:
    """Takes the parser's events and says of each element what it is."""

    def __init__(self) -> None:
        self.flow = Flow()
        self.title = ""
        self._path: list[str] = []
        self._parts = 0  # how many parts of the document are open
        self._is_document = False
        self._heard: dict[str, list[str]] = {}  # text of what becomes title and metadata
        self._records = Records(self.flow)

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        name = tag.rpartition("}")[2].lower()
        if len(self._path) >= _MAX_DEPTH:
            raise IngestError("parse", f"elements nested deeper than {_MAX_DEPTH}")
        if not self._path:
            self._is_document = name in DOCUMENTS
        self._path.append(name)
        if self._is_document:
            self._start_word(name, attributes)
        else:
            self._records.start(name, attributes)

    def end(self, tag: str) -> None:
        name = self._path[-1]
        if not self._is_document:
            self._records.end()
            self._path.pop()
            return
        if name in HEADINGS and not self.title:
            self.title = collapse("".join(self._heard.get("title", [])))
        elif name in PARTS:
            self._parts -= 1
        elif name in _NAMES:
            self.data(" ")  # apart from the name's next part
        self.flow.close()
        self._path.pop()

    def data(self, text: str) -> None:
        if not self._is_document:
            self._records.text(text)
            return
        for key in self._listening():
            self._heard.setdefault(key, []).append(text)
        self.flow.text(text)

    def comment(self, text: str) -> None:
        """Leave a comment out."""

    def pi(self, target: str, data: str | None = None) -> None:
        """Leave a processing instruction out."""

    def close(self) -> None:
        """Leave the rest to `parse`."""

    def metadata(self) -> dict[str, str]:
        """Give the author, where the document names one."""
        author = collapse("".join(self._heard.get("author", [])))[:200]
        return {"author": author} if author else {}

    def _listening(self) -> list[str]:
        """Name what the open elements' text tells about the document."""
        listening = []
        if not self.title and self._parts <= 1 and self._is_in_title():
            listening.append("title")
        if "author" in self._path or ("contrib" in self._path and "name" in self._path):
            listening.append("author")
        return listening

    def _is_in_title(self) -> bool:
        """Say whether a part's own title is open, rather than that of a figure in it."""
        pairs = zip(self._path, self._path[1:], strict=False)
        return any(name in HEADINGS and above in PARTS | INFOS for above, name in pairs)

    def _start_word(self, name: str, attributes: Mapping[str, str]) -> None:
        parent = self._path[-2] if len(self._path) > 1 else ""
        kind = WORDS.get(name)
        if name in HEADINGS:
            is_heading = parent in PARTS or parent in INFOS
            self.flow.open("heading" if is_heading else "block", level=max(self._parts, 1))
        elif name in PARTS:
            self._parts += 1
            self.flow.open("block")
        elif kind is None:
            self.flow.open("inline" if self.flow.has_text else "block")
        elif kind == "cell":
            columns, rows = (_span(attributes, key) for key in ("colspan", "rowspan"))
            header = name == "th" or "thead" in self._path
            self.flow.open("cell", columns=columns, rows=rows, header=header)
        elif kind == "list":
            kinds = (attributes.get("list-type"), attributes.get("type"))
            self.flow.open("list", ordered=name in {"orderedlist", "ol"} or "order" in kinds)
        else:
            self.flow.open(kind)
        if name in {"xref", "graphic"} and attributes.get("alt"):
            self.flow.text(attributes["alt"])


def _span(attributes: Mapping[str, str], name: str) -> int:
    value = attributes.get(name, "")
    return min(int(value), 1000) if re.fullmatch(r"\d{1,6}", value) else 1
