"""Parse Markdown: the stored text is the source itself; headings, tables, code, lists and
paragraphs are found over it.

Only a real YAML front matter is taken off and becomes metadata.
"""

from __future__ import annotations

import re

from ragkit.text.normalise import clean
from ragkit.types import Block, BlockKind, ParsedText
from ragkit_ingest.parse.builder import title_line
from ragkit_ingest.parse.decode import decode
from ragkit_ingest.parse.options import ParseOptions

_MARKS = frozenset("#`~=-*_|:<")  # what can begin anything but a paragraph or an item
_ITEM_MARKS = frozenset("-*+0123456789")
_FIRST = ("1.", "1)")  # only these numbers begin a list right below a paragraph
_MAX_MARK_CHARS = 4096  # arbitrary; a longer line is no rule and no table's second line
_HEADING = re.compile(r"(#{1,6})(?:[ \t]+|$)")
_UNDERLINE = re.compile(r"(=+|-+)[ \t]*$")
_FENCE = re.compile(r"(`{3,}|~{3,})(.*)")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_RULE = re.compile(r"(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
_DELIMITER = re.compile(r"\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+$")
_HTML_TABLE = re.compile(r"</?table\b", re.IGNORECASE)

_FRONT = re.compile(r"---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_CHARS = 16_384
_KEY = re.compile(r"([A-Za-z_][\w .-]*):(?:[ \t]+(.*))?$")
_MAX_KEYS, _MAX_VALUE_CHARS = 64, 1000  # arbitrary; metadata is a label, not a text


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse Markdown of any encoding that `decode` knows. Raises IngestError for binary data."""
    metadata, text = _front_matter(clean(decode(data)))
    title = title_line(metadata.pop("title", ""))
    return ParsedText(text, tuple(blocks(text)), title=title, metadata=metadata)


def blocks(text: str) -> list[Block]:
    """Find the blocks of a Markdown text, in order. A heading's underline is not part of it."""
    return _Scan(text).blocks()


class _Scan:
    """One pass over the lines; a block is open until a line ends it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: list[Block] = []
        self._kind: BlockKind | None = None
        self._start = self._end = 0
        self._lines = 0
        self._fence = ""  # what closes the open code fence
        self._html = 0  # depth of open <table> tags
        self._blank = False  # an empty line was passed within a list

    def blocks(self) -> list[Block]:
        start = 0
        for line in self._text.split("\n"):
            body = line.strip()
            if self._fence or self._html:
                self._verbatim(body, start + len(line))
            elif body:
                self._take(line, body, start, start + len(line))
            elif self._kind == "list":
                self._blank = True  # its items may stand apart
            elif self._kind:
                self._close()
            start += len(line) + 1
        self._close()
        return self._found

    def _verbatim(self, body: str, end: int) -> None:
        """Take a line of fenced code or of an HTML table."""
        if body:
            self._end = end
        if self._fence:
            closed = body.startswith(self._fence) and not body.strip(self._fence[0])
        else:
            self._tags(body)
            closed = not self._html
        if closed:
            self._close()

    def _take(self, line: str, body: str, start: int, end: int) -> None:
        """Take a line with something on it, outside of code and HTML tables."""
        first = body[0]
        if first not in _MARKS:
            self._flow(line, body, start, end)
            return
        heading = _HEADING.match(body) if first == "#" else None
        fence = _FENCE.match(body) if first in "`~" else None
        if heading:
            self._close()
            begin = start + line.index("#")
            self._found.append(Block(begin, begin + len(body), "heading", heading.end(1)))
        elif fence and "`" not in fence.group(2):
            self._open("code", start, end)
            self._fence = fence.group(1)
        elif self._kind == "paragraph" and self._is_underline(body):
            level = 1 if first == "=" else 2
            self._found.append(Block(self._start, self._end, "heading", level))
            self._kind = None
        elif len(body) <= _MAX_MARK_CHARS and _RULE.match(body):
            self._close()
        elif self._kind == "paragraph" and self._lines == 1 and self._is_delimiter(body):
            self._kind, self._end = "table", end
        elif first == "<" and _HTML_TABLE.match(body):
            self._open("table", start, end)
            self._tags(body)
            if not self._html:
                self._close()
        else:
            self._flow(line, body, start, end)

    def _flow(self, line: str, body: str, start: int, end: int) -> None:
        """Take a line of a paragraph, list, table or indented code."""
        kind = self._kind
        indented = line[0] in " \t"
        is_item = body[0] in _ITEM_MARKS and _ITEM.match(body) is not None
        if kind == "list" and (is_item or indented or not self._blank):
            self._grow(end)
        elif is_item and (kind != "paragraph" or not body[0].isdigit() or body[:2] in _FIRST):
            self._open("list", start, end)
        elif kind == "paragraph" or (kind == "table" and "|" in body):
            self._grow(end)
        elif indented and line.startswith(("    ", "\t")):
            if kind == "code":
                self._grow(end)
            else:
                self._open("code", start, end)
        else:
            self._open("paragraph", start + (line.index(body[0]) if indented else 0), end)

    def _is_underline(self, body: str) -> bool:
        return self._lines <= 3 and _UNDERLINE.match(body) is not None

    def _is_delimiter(self, body: str) -> bool:
        if len(body) > _MAX_MARK_CHARS or "-" not in body:
            return False
        return "|" in self._text[self._start : self._end] and _DELIMITER.match(body) is not None

    def _tags(self, body: str) -> None:
        for tag in _HTML_TABLE.findall(body):
            self._html = max(0, self._html + (-1 if tag[1] == "/" else 1))

    def _open(self, kind: BlockKind, start: int, end: int) -> None:
        self._close()
        self._kind, self._start, self._end, self._lines = kind, start, end, 1
        self._blank = False

    def _grow(self, end: int) -> None:
        self._end = end
        self._lines += 1
        self._blank = False

    def _close(self) -> None:
        if self._kind:
            self._found.append(Block(self._start, self._end, self._kind))
        self._kind, self._fence, self._html = None, "", 0


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    """Take YAML front matter off: "key: value" lines, lists and nested lines between two ---."""
    match = _FRONT.match(text, 0, _FRONT_CHARS) if text.startswith("---") else None
    if match is None:
        return {}, text
    values_by_key: dict[str, list[str]] = {}
    key = ""
    for line in match.group(1).split("\n"):
        pair = _KEY.match(line)
        if pair:
            key = pair.group(1).strip()
            values_by_key[key] = [_scalar(pair.group(2) or "")]
        elif key and line.strip() and line[0] in " \t-":
            values_by_key[key].append(_scalar(line.strip().removeprefix("- ")))
        elif line.strip() and not line.startswith("#"):
            return {}, text  # prose between two rules
    if not values_by_key:
        return {}, text
    values = {
        name: ", ".join(part for part in parts if part) for name, parts in values_by_key.items()
    }
    metadata = [(name, value[:_MAX_VALUE_CHARS]) for name, value in values.items() if value]
    return dict(metadata[:_MAX_KEYS]), text[match.end() :].lstrip("\n")


def _scalar(value: str) -> str:
    value = value.strip()
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return "" if value in {"|", ">", "|-", ">-", "[]", "{}", "~", "null"} else value
