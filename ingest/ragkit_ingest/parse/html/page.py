"""Parse HTML as a stream of tags into Markdown-like text: headings, lists, code, tables, links as
their text and where they lead. What frames the main content, and what is hidden in place, is left
out and counted.

No tree is built, so depth costs nothing; no entity is expanded beyond HTML's own, and nothing is
fetched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from ragkit.text.analyse import CJK
from ragkit.text.normalise import clean
from ragkit.types import ParsedText
from ragkit_ingest.parse.builder import MAX_TITLE_CHARS, Builder
from ragkit_ingest.parse.content import Content, Table
from ragkit_ingest.parse.html.anchors import Anchors, site_hosts
from ragkit_ingest.parse.html.charset import decode_page
from ragkit_ingest.parse.html.controls import CONTROLS, is_control, without_brackets
from ragkit_ingest.parse.html.hidden import is_hidden
from ragkit_ingest.parse.html.main import main_content
from ragkit_ingest.parse.html.meta import Head
from ragkit_ingest.parse.html.regions import Regions
from ragkit_ingest.parse.html.tables import add_table
from ragkit_ingest.parse.html.tags import (
    APART,
    BOLD,
    CELLS,
    DROPPED,
    HEAD,
    HEADINGS,
    LISTS,
    PLAIN,
    PREFORMATTED,
    PRESENTATION,
    VOID,
)
from ragkit_ingest.parse.options import ParseOptions
from ragkit_ingest.parse.titles import first_title

_FEED_CHARS = 1 << 20
# What XHTML may declare in its document type: entities, which are never expanded. A reader of HTML
# would end the type at the first ">" in it.
_DECLARED = re.compile(r"(<!DOCTYPE\b[^>\[]{0,2000})\[[^\]]*+\]\s*+>", re.I)
_DOCTYPE_CHARS = 2000  # where a document type begins at the latest, after comments
_WRAP = re.compile(rf"(?<=[{CJK}，。、；：！？）》」”])[ \t\r]*\n\s*(?=[{CJK}（《「“])")
_MAX_LANG_CHARS = 35  # RFC 5646, 4.4.1
_MAX_SPAN = 1000  # HTML's own limit on colspan
_MAX_TABLE_DEPTH = 8  # arbitrary; layouts of the last century had five


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse an HTML page, of which the main content is kept. Raises IngestError for binary data."""
    return _parsed(data, is_page=True)


def parse_part(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse HTML that is no page of a site but part of something: a mail's body, a chapter.

    All of it is kept, except for what is hidden. Raises IngestError for binary data.
    """
    return _parsed(data, is_page=False)


def _parsed(data: bytes, *, is_page: bool) -> ParsedText:
    from lxml import etree

    text = _undeclared(clean(decode_page(data)))
    walker = _Walker(site_hosts(text))
    parser = etree.HTMLParser(target=walker, huge_tree=True, no_network=True)
    for start in range(0, len(text), _FEED_CHARS):
        parser.feed(text[start : start + _FEED_CHARS])
    if text:
        parser.close()
    pieces = walker.page.pieces
    content = Content()
    content.pieces = (
        main_content(pieces, walker.regions.boxes, walker.title[:MAX_TITLE_CHARS])
        if is_page
        else pieces
    )
    notes = walker.notes | {"boilerplate text": len(pieces) - len(content.pieces)}
    builder = Builder()
    content.write(builder)
    title = first_title(walker.title, *walker.head.titles)
    parsed = builder.result(title=title, metadata=walker.head.metadata())
    return replace(parsed, notes={kind: count for kind, count in notes.items() if count})


def _undeclared(text: str) -> str:
    """Leave out what a document type declares."""
    start = text[:_DOCTYPE_CHARS].upper().find("<!DOCTYPE")
    match = _DECLARED.match(text, start) if start >= 0 else None
    return f"{text[:start]}{match[1]}>{text[match.end() :]}" if match else text


class _Walker:
    """Takes the parser's events; `page` is what they have made, `title` the page's own."""

    def __init__(self, hosts: set[str]) -> None:
        self.page = Content()
        self.title = ""
        self.head = Head()
        self.notes = {"hidden text": 0, "comments": 0}
        self._open: list[Content] = [self.page]  # the page and the cells that are open
        self._tables: list[Table] = []
        self._too_deep = 0  # tables open inside too many others, read as running text
        self._dropping: list[str] = []  # tags open since one that is left out
        self._lists: list[int | None] = []  # the number of the last item; None without numbers
        self._base = [0]  # how many lists are open around each open cell
        self._inline: list[str] = []
        self._pre = 0
        self._heading = 0
        self._marker: str | None = None  # of the open item, until its first line is written
        self._in_title = False
        self._anchors = Anchors(hosts)
        self._in_head = False  # of a table
        self._has_control = False  # whether one was left out since the last block
        self.regions = Regions()
        self._hides = False  # whether what is dropped is a text that only the page's look hides

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        control = tag in CONTROLS and is_control(tag, attributes)
        self._has_control |= control
        if self._dropping or control or tag in DROPPED or is_hidden(tag, attributes):
            self._drop(tag, is_text=tag == "template" or not (control or tag in DROPPED))
            return
        if tag in APART:
            self._flush()
        if tag in HEAD:
            self._note(tag, attributes)
        if tag not in VOID:
            self.regions.enter(tag, attributes)
        if tag not in PLAIN:
            self._begin(tag, attributes)

    def _begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Begin what a tag makes of the text after it."""
        if tag == "a":
            self._anchors.open(attributes.get("href") or "", len(self._inline))
        elif tag == "title":
            self._in_title = not self.title
        elif tag in HEADINGS:
            self._heading = HEADINGS[tag]
        elif tag == "br":
            self._inline.append("\n" if self._pre else "\x00")
        elif tag == "img":
            self._inline.append(f" {attributes.get('alt') or ''} ")
        elif tag == "button":
            self._inline.append(" ")
        elif tag == "input":
            self._inline.append(" ")
            self.regions.note_input(attributes)
        elif tag in PREFORMATTED:
            self._pre += 1
        elif tag == "li":
            self._item(attributes)
        elif tag in LISTS:
            self._lists.append(_number(attributes.get("start"), 1) - 1 if tag == "ol" else None)
        else:
            self._start_table(tag, attributes)

    def end(self, tag: str) -> None:
        if self._dropping:
            if tag not in VOID:
                self._dropping.pop()
            return
        if tag in APART:
            self._flush()
        if tag not in PLAIN:
            self._finish(tag)
        if tag not in VOID:
            self.regions.leave(tag)

    def _finish(self, tag: str) -> None:
        """End what a tag made of the text before it."""
        if tag == "a":
            self._anchors.close(self._inline)
        elif tag == "title":
            self._in_title = False
        elif tag == "button":
            self._inline.append(" ")
        elif tag in HEADINGS:
            self._heading = 0
        elif tag in PREFORMATTED:
            self._pre = max(0, self._pre - 1)
        elif tag == "li":
            self._marker = None
        elif tag in LISTS:
            if len(self._lists) > self._base[-1]:
                self._lists.pop()
        else:
            self._end_table(tag)

    def data(self, text: str) -> None:
        if self._in_title:
            self.title += text
        elif not self._dropping:
            self._inline.append(text)
            self.regions.count_text(text)
        elif self._hides and not text.isspace():
            self.notes["hidden text"] += 1
            self._hides = False  # once for all that is in it

    def comment(self, text: str) -> None:
        """Leave a comment out."""
        self.notes["comments"] += bool(text.strip())

    def pi(self, target: str, data: str | None = None) -> None:
        """Leave a processing instruction out."""

    def close(self) -> None:
        self._flush()
        self._too_deep = 0
        while self._tables:
            self._end_table("table")

    def _drop(self, tag: str, *, is_text: bool) -> None:
        """Leave a tag and all that is in it out; `is_text` says that a text is hidden by it."""
        if not self._dropping:
            if tag in APART:
                self._flush()
            self._hides = is_text
        if tag not in VOID:
            self._dropping.append(tag)

    def _note(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Note what the page's head says."""
        if tag == "meta":
            self.head.take(attributes)
        elif tag == "html":
            self.head.language = (attributes.get("lang") or "").strip()[:_MAX_LANG_CHARS]
        else:
            self._anchors.note_site(tag, attributes)

    def _item(self, attributes: Mapping[str, str]) -> None:
        number = self._lists[-1] if len(self._lists) > self._base[-1] else None
        if number is None:
            self._marker = "-"
        else:
            self._lists[-1] = _number(attributes.get("value"), number + 1)
            self._marker = f"{self._lists[-1]}."

    def _start_table(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "table":
            if len(self._tables) >= _MAX_TABLE_DEPTH:
                self._too_deep += 1
                return
            self._tables.append(Table(presentation=attributes.get("role") in PRESENTATION))
        elif not self._tables:
            return
        elif tag in {"thead", "tbody"}:
            self._in_head = tag == "thead"
        elif tag in BOLD:
            self._tables[-1].mark_bold(is_first=not "".join(self._inline).strip())
        elif tag == "tr":
            self._close_cell()
            self._tables[-1].rows.append([])
        elif tag in CELLS:
            self._close_cell()
            columns = min(_number(attributes.get("colspan"), 1), _MAX_SPAN)
            rows = min(_number(attributes.get("rowspan"), 1), _MAX_SPAN)
            self._open.append(
                self._tables[-1].cell(columns, rows, is_header=tag == "th" or self._in_head)
            )
            self._base.append(len(self._lists))
        elif tag == "caption" and not self._tables[-1].is_open:
            self._open.append(self._tables[-1].open_caption())
            self._base.append(len(self._lists))

    def _end_table(self, tag: str) -> None:
        if not self._tables:
            return
        if tag in CELLS or tag in {"tr", "caption"}:
            self._close_cell()
        elif tag == "thead":
            self._in_head = False
        elif self._too_deep and tag == "table":
            self._too_deep -= 1
        elif tag == "table":
            self._close_cell()
            table = self._tables.pop()
            target = self._open[-1]
            target.place = table.place(self.regions.place())
            add_table(table, target)

    def _close_cell(self) -> None:
        """Leave the innermost table's open cell, if one is open."""
        if self._tables[-1].is_open:
            self._tables[-1].is_open = False
            self._open.pop()
            del self._lists[self._base.pop() :]
            self._marker = None

    def _flush(self) -> None:
        """Write what was said since the last block began."""
        if not self._inline:
            return
        text = "".join(self._inline)
        links = self._anchors.take(self._inline)
        self._inline.clear()
        if not text or text.isspace():
            return
        target = self._open[-1]
        target.place = self.regions.place()
        if self._pre:
            target.code(text.replace("\x00", "\n"))
            return
        line = _collapse(text)
        if self._has_control:
            line = without_brackets(line)
            self._has_control = False
        depth = len(self._lists) - self._base[-1]
        if not line:
            return
        if self._heading:
            target.heading(self._heading, line.replace("\n", " "))
        elif depth:
            target.item(line, depth - 1, self._marker or "")
            self._marker = self._marker and ""
        else:
            target.paragraph(line)
        target.link(links)


def _collapse(text: str) -> str:
    """Make one space of any white space, and line ends of the page's own line breaks."""
    lines = _WRAP.sub("", text).split("\x00")
    return "\n".join(line for line in (" ".join(part.split()) for part in lines) if line)


def _number(value: str | None, default: int) -> int:
    """Read a number of an attribute as browsers do, more or less."""
    digits = re.match(r"\s*(\d{1,6})", value or "")
    return int(digits.group(1)) if digits else default
