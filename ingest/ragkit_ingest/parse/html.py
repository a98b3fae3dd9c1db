"""Parse HTML as a stream of tags into Markdown-like text: headings, lists, code, tables, links as
their text.

No tree is built, so depth costs nothing; no entity is expanded beyond HTML's own, and nothing is
fetched. It knows nothing of style sheets: only what is hidden in place is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ragkit.text.analyse import CJK
from ragkit.text.normalise import clean
from ragkit.types import ParsedText
from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.content import Content, Table, is_layout
from ragkit_ingest.parse.decode import decode, lookup
from ragkit_ingest.parse.options import ParseOptions

_FEED_CHARS = 1 << 20
_DROPPED = frozenset(
    "script style noscript template iframe object svg canvas audio video select datalist".split()
)
_BLOCKS = frozenset(
    "address article aside blockquote body center dd details dialog div dl dt fieldset figcaption"
    " figure footer form header hr html legend main nav p search section summary".split()
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_CELLS = frozenset({"td", "th"})
_PREFORMATTED = frozenset({"pre", "textarea", "listing", "xmp"})
# What begins and ends a block of its own.
_APART = _BLOCKS | _LISTS | _CELLS | _PREFORMATTED | {*_HEADINGS, "li", "table", "tr", "caption"}
_PRESENTATION = frozenset({"presentation", "none"})
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
_HIDDEN = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE)
_CHARSET = re.compile(
    rb"""<(?:meta\b[^>]{0,512}?charset|\?xml[^>]{0,99}?encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.I
)
_CHARSET_BYTES = 4096  # browsers look at 1024
_WRAP = re.compile(rf"(?<=[{CJK}，。、；：！？）》」”])[ \t\r]*\n\s*(?=[{CJK}（《「“])")
_MAX_SPAN = 1000  # HTML's own limit on colspan
_MAX_TABLE_DEPTH = 8  # arbitrary; layouts of the last century had five


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse an HTML page. Raises IngestError for binary data."""
    from lxml import etree

    walker = _Walker()
    parser = etree.HTMLParser(target=walker, huge_tree=True, no_network=True)
    text = clean(_decode(data))
    for start in range(0, len(text), _FEED_CHARS):
        parser.feed(text[start : start + _FEED_CHARS])
    if text:
        parser.close()
    builder = Builder()
    walker.page.write(builder)
    return builder.result(title=walker.title)


def _decode(data: bytes) -> str:
    """Decode by the page's own word, if it keeps it; by what the bytes look like otherwise."""
    declared = _CHARSET.search(data, 0, _CHARSET_BYTES)
    name = lookup(declared.group(1).decode("ascii", "replace")) if declared else None
    if name and not data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        try:
            return data.decode(name)
        except UnicodeDecodeError:
            pass
    return decode(data)


class _Walker:
    """Takes the parser's events; `page` is what they have made, `title` the page's own."""

    def __init__(self) -> None:
        self.page = Content()
        self.title = ""
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

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if self._dropping or tag in _DROPPED or _is_hidden(attributes):
            self._drop(tag)
            return
        if tag in _APART:
            self._flush()
        if tag == "title":
            self._in_title = not self.title
        elif tag in _HEADINGS:
            self._heading = _HEADINGS[tag]
        elif tag == "br":
            self._inline.append("\n" if self._pre else "\x00")
        elif tag == "img":
            self._inline.append(f" {attributes.get('alt') or ''} ")
        elif tag in _PREFORMATTED:
            self._pre += 1
        elif tag == "li":
            self._item(attributes)
        elif tag in _LISTS:
            self._lists.append(_number(attributes.get("start"), 1) - 1 if tag == "ol" else None)
        else:
            self._start_table(tag, attributes)

    def end(self, tag: str) -> None:
        if self._dropping:
            if tag not in _VOID:
                self._dropping.pop()
            return
        if tag in _APART:
            self._flush()
        if tag == "title":
            self._in_title = False
        elif tag in _HEADINGS:
            self._heading = 0
        elif tag in _PREFORMATTED:
            self._pre = max(0, self._pre - 1)
        elif tag == "li":
            self._marker = None
        elif tag in _LISTS:
            if len(self._lists) > self._base[-1]:
                self._lists.pop()
        else:
            self._end_table(tag)

    def data(self, text: str) -> None:
        if self._in_title:
            self.title += text
        elif not self._dropping:
            self._inline.append(text)

    def comment(self, text: str) -> None:
        """Leave a comment out."""

    def pi(self, target: str, data: str | None = None) -> None:
        """Leave a processing instruction out."""

    def close(self) -> None:
        self._flush()
        self._too_deep = 0
        while self._tables:
            self._end_table("table")

    def _drop(self, tag: str) -> None:
        """Leave a tag and all that is in it out."""
        if not self._dropping and tag in _APART:
            self._flush()
        if tag not in _VOID:
            self._dropping.append(tag)

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
            self._tables.append(Table(presentation=attributes.get("role") in _PRESENTATION))
        elif not self._tables:
            return
        elif tag == "tr":
            self._close_cell()
            self._tables[-1].rows.append([])
        elif tag in _CELLS:
            self._close_cell()
            columns = min(_number(attributes.get("colspan"), 1), _MAX_SPAN)
            rows = min(_number(attributes.get("rowspan"), 1), _MAX_SPAN)
            self._open.append(self._tables[-1].cell(columns, rows, is_header=tag == "th"))
            self._base.append(len(self._lists))
        elif tag == "caption" and not self._tables[-1].is_open:
            self._open.append(self._tables[-1].open_caption())
            self._base.append(len(self._lists))

    def _end_table(self, tag: str) -> None:
        if not self._tables:
            return
        if tag in _CELLS or tag in {"tr", "caption"}:
            self._close_cell()
        elif self._too_deep:
            self._too_deep -= 1
        elif tag == "table":
            self._close_cell()
            table = self._tables.pop()
            target = self._open[-1]
            if is_layout(table):
                target.extend(table)
            else:
                target.table(table)

    def _close_cell(self) -> None:
        """Leave the innermost table's open cell, if one is open."""
        if self._tables[-1].is_open:
            self._tables[-1].is_open = False
            self._open.pop()
            del self._lists[self._base.pop() :]
            self._marker = None

    def _flush(self) -> None:
        """Write what was said since the last block began."""
        text = "".join(self._inline)
        self._inline.clear()
        if not text or text.isspace():
            return
        target = self._open[-1]
        depth = len(self._lists) - self._base[-1]
        if self._pre:
            target.code(text.replace("\x00", "\n"))
        elif self._heading:
            target.heading(self._heading, _collapse(text).replace("\n", " "))
        elif depth and self._marker is not None:
            target.item(_collapse(text), depth - 1, self._marker)
            self._marker = ""
        elif depth:
            target.item(_collapse(text), depth - 1, "")
        else:
            target.paragraph(_collapse(text))


def _collapse(text: str) -> str:
    """Make one space of any white space, and line ends of the page's own line breaks."""
    lines = _WRAP.sub("", text).split("\x00")
    return "\n".join(line for line in (" ".join(part.split()) for part in lines) if line)


def _is_hidden(attributes: Mapping[str, str]) -> bool:
    if not attributes:
        return False
    if "hidden" in attributes and attributes["hidden"] != "until-found":
        return True
    style = attributes.get("style")
    return bool(style) and _HIDDEN.search(style or "") is not None


def _number(value: str | None, default: int) -> int:
    """Read a number of an attribute as browsers do, more or less."""
    digits = re.match(r"\s*(\d{1,6})", value or "")
    return int(digits.group(1)) if digits else default
