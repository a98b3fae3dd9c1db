"""Parse Org files into Markdown-like text, line by line: headings, lists, tables, blocks of code.

Drawers, properties, comments, tags and keywords go, except title, author, date and captions. Inline
marks such as *bold* stay as they are written.
"""

from __future__ import annotations

import re
from bisect import bisect_left

from ragkit.text.normalise import clean
from ragkit.types import ParsedText
from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.decode import decode
from ragkit_ingest.parse.options import ParseOptions

_HEADING = re.compile(r"(\*{1,20})[ \t]+(\S.*)")
_TAGS = re.compile(r"(?<![ \t])[ \t]++:[\w@#%:]{1,300}:[ \t]*$")
_PRIORITY = re.compile(r"\[#\w\][ \t]*")
_KEYWORD = re.compile(r"#\+(\w{1,40}):[ \t]*(.*)", re.IGNORECASE)
_BEGIN = re.compile(r"#\+begin_(\w{1,40})", re.IGNORECASE)
_DRAWER = re.compile(r":[\w-]{1,80}:$")
_ITEM = re.compile(r"([ \t]*)([-+]|\*(?<=[ \t]\*)|\d{1,4}[.)]|[A-Za-z][.)])[ \t]+(\S.*)")
_BOX = re.compile(r"\[[@ X-][\d]{0,4}\][ \t]+")
_LINK = re.compile(r"\[\[([^\[\]\n]{1,2000})\](?:\[([^\[\]\n]{1,2000})\])?\]")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_RULE = re.compile(r"\|[-+:|]*$")
_CODE = frozenset({"src", "example"})
_DROPPED = frozenset({"comment", "export", "html", "latex"})
_MAX_VALUE_CHARS = 1000  # arbitrary; of a keyword


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse an Org file. Raises IngestError for binary data."""
    reader = _Reader(clean(decode(data)).split("\n"))
    reader.run()
    return reader.builder.result(title=reader.title, metadata=reader.metadata)


class _Reader:
    """One pass over the lines; a paragraph, item or table is open until a line ends it."""

    def __init__(self, lines: list[str]) -> None:
        self.builder = Builder()
        self.title = ""
        self.metadata: dict[str, str] = {}
        self._lines = lines
        self._place = 0
        # Where ends and headings stand, found once: an end may be looked for at every line.
        self._ends: dict[str, list[int]] = {}
        self._headings: list[int] = []
        for place, line in enumerate(lines):
            if line.lstrip().lower().startswith(("#+end_", ":end:")):
                self._ends.setdefault(line.strip().lower(), []).append(place)
            elif _HEADING.match(line):
                self._headings.append(place)
        self._open: list[str] = []
        self._rows: list[list[str]] = []
        self._item_place: tuple[int, str] | None = None  # depth and marker of the open item
        self._indents: list[int] = []  # of the open lists
        self._dropped = 0  # level of the heading whose part is left out

    def run(self) -> None:
        """Read everything."""
        while self._place < len(self._lines):
            line = self._lines[self._place].rstrip()
            self._place += 1
            heading = _HEADING.match(line)
            if heading:
                self._heading(len(heading[1]), heading[2])
            elif not self._dropped:
                self._take(line, line.strip())
        self._close()

    def _heading(self, level: int, text: str) -> None:
        if self._dropped and level > self._dropped:
            return
        self._close()
        self._indents.clear()
        self._dropped = level if f"{text} ".startswith("COMMENT ") else 0
        if not self._dropped:
            self.builder.heading(level, _inline(_PRIORITY.sub("", _TAGS.sub("", text), count=1)))

    def _take(self, line: str, body: str) -> None:
        """Take a line that is no heading."""
        begin = _BEGIN.match(body)
        item = _ITEM.match(line)
        if not body:
            self._close()
        elif begin:
            self._block(begin[1].lower())
        elif body.startswith("#"):
            self._keyword(body)
        elif _DRAWER.match(body) and body.upper() != ":END:":
            self._close()
            self._until(":end:")
        elif body.startswith("|"):
            self._row(body)
        elif body == ":" or body.startswith(": "):
            self._fixed(body)
        elif item:
            self._item(len(item[1].expandtabs(8)), item[2], item[3])
        else:
            self._text(line, body)

    def _text(self, line: str, body: str) -> None:
        """Take a line of a paragraph, or of the item that it is indented under."""
        if self._rows:
            self._close()
        indent = len(line) - len(line.lstrip())
        if not self._open and self._indents:
            while self._indents and indent <= self._indents[-1]:
                self._indents.pop()
            if self._indents:
                self._item_place = (len(self._indents) - 1, "")
        self._open.append(body)

    def _item(self, indent: int, mark: str, text: str) -> None:
        self._close()
        while self._indents and indent < self._indents[-1]:
            self._indents.pop()
        if not self._indents or indent > self._indents[-1]:
            self._indents.append(indent)
        marker = "-" if mark in "-+*" else mark.replace(")", ".")
        self._item_place = (len(self._indents) - 1, marker)
        self._open.append(_BOX.sub("", text, count=1).replace(" :: ", ": ", 1))

    def _keyword(self, body: str) -> None:
        """Take a keyword, or a comment."""
        match = _KEYWORD.match(body)
        if match is None and (body == "#" or body.startswith("# ")):
            return
        if match is None and not body.startswith("#+"):
            self._text(body, body)  # "#hashtag"
            return
        self._close()
        name, value = (match[1].lower(), match[2].strip()) if match else ("", "")
        value = value[:_MAX_VALUE_CHARS]
        date = _DATE.search(value)
        if name == "title":
            self.title = f"{self.title} {value}".strip()
        elif name == "author" and value:
            self.metadata["author"] = value
        elif name == "date" and date:
            self.metadata["created"] = date[0]
        elif name == "caption":
            self.builder.paragraph(_inline(value))

    def _row(self, body: str) -> None:
        if not self._rows:
            self._close()
        if not _RULE.match(body):
            self._rows.append([_inline(cell) for cell in body.strip("|").split("|")])

    def _fixed(self, body: str) -> None:
        """Take lines that stand as they are written."""
        self._close()
        lines = [body[2:]]
        while self._place < len(self._lines):
            line = self._lines[self._place].strip()
            if line != ":" and not line.startswith(": "):
                break
            lines.append(line[2:])
            self._place += 1
        self.builder.code("\n".join(lines))

    def _block(self, kind: str) -> None:
        self._close()
        content = self._until(f"#+end_{kind}")
        if kind in _CODE:
            indents = [len(line) - len(line.lstrip()) for line in content if line.strip()]
            self.builder.code("\n".join(line[min(indents, default=0) :] for line in content))
        elif kind not in _DROPPED:
            paragraph: list[str] = []
            for line in [*content, ""]:
                if line.strip():
                    paragraph.append(line.strip())
                elif paragraph:
                    self.builder.paragraph(_inline("\n".join(paragraph)))
                    paragraph.clear()

    def _until(self, end: str) -> list[str]:
        """Take the lines up to an end, or none where there is no end before the next heading."""
        places = self._ends.get(end, [])
        index = bisect_left(places, self._place)
        heading = bisect_left(self._headings, self._place)
        limit = self._headings[heading] if heading < len(self._headings) else len(self._lines)
        if index == len(places) or places[index] > limit:
            return []
        start, self._place = self._place, places[index] + 1
        return self._lines[start : places[index]]

    def _close(self) -> None:
        """Write what is open."""
        if self._rows:
            self.builder.table(self._rows)
            self._rows.clear()
        if self._open:
            text = _inline("\n".join(self._open))
            self._open.clear()
            if self._item_place:
                depth, marker = self._item_place
                self.builder.item(text, depth=depth, marker=marker)
            else:
                self.builder.paragraph(text)
        self._item_place = None


def _inline(text: str) -> str:
    """Leave of links their text."""
    return _LINK.sub(lambda match: match[2] or match[1], text).strip()
