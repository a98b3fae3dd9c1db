"""Parse AsciiDoc into Markdown-like text, line by line: sections, lists, tables, blocks of code.

Attributes are filled in where the file itself defines them; anchors, conditions and comments go,
includes are counted. Inline marks such as *bold* stay as they are written.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from ragkit.text.normalise import clean
from ragkit.types import ParsedText
from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.decode import decode
from ragkit_ingest.parse.markup.asciidoctable import rows_of
from ragkit_ingest.parse.options import ParseOptions

_HEADING = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*)")
_ATTRIBUTE = re.compile(r":(!?[\w][\w-]{0,99}!?):(?:[ \t]+(.*))?$")
_ITEM = re.compile(r"(\*{1,6}|\.{1,6}|-|\d{1,4}\.|<(?:\d{1,3}|\.)>)[ \t]+(\S.*)")
_TERM = re.compile(r"(\S.{0,300}?)(::|:::|::::|;;)(?:[ \t]+(\S.*))?$")
_FENCE = re.compile(r"(?:(-|\.|=|\*|_|\+|/)\1{3,}|--|`{3,}.*|[|,:!]={3,})$")
_BLOCK_LINE = re.compile(r"\[[^\]\n]*\]$|\[\[.*\]\]$")
_BLOCK_MACRO = re.compile(
    r"(image|video|audio|include|toc|ifdef|ifndef|ifeval|endif)::?([^\s\[]*+)\[(.*)\]$"
)
_MACRO = re.compile(
    r"(?:(?:link|xref|mailto|footnote|btn|kbd|menu|image|icon|pass|stem|term|indexterm2):{1}"
    r"([^\s\[\]]{0,500})|((?:https?|ftp)://[^\s\[\]<>]{1,500}))\[([^\]\n]{0,500})\]"
)
_CROSS = re.compile(r"<<([^,<>\n]{1,300})(?:,([^<>\n]{1,300}))?>>")
_ANCHOR = re.compile(r"\[\[[^\[\]\n]{1,300}\]\]|\[#[^\[\]\n]{1,300}\]")
_REFERENCE = re.compile(r"\{([\w][\w-]{0,99})\}")
_REVISION = re.compile(r"(?:v?[\d.]{1,20},[ \t]*)?(\d{4}-\d{2}-\d{2})")
_MAIL = re.compile(r"(?:(?<![ \t])[ \t]++)?<[^<>\n]{0,200}>")
_KNOWN = {"nbsp": " ", "sp": " ", "empty": "", "blank": "", "plus": "+", "vbar": "|", "amp": "&"}
_MAX_VALUE_CHARS = 1000  # arbitrary; of an attribute
_MAX_FILLED_CHARS = 1_000_000  # arbitrary; of all attributes' values that are filled in


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse AsciiDoc. Raises IngestError for binary data."""
    reader = _Reader(clean(decode(data)).expandtabs(8).split("\n"))
    reader.run()
    parsed = reader.builder.result(title=reader.title, metadata=reader.metadata)
    return replace(parsed, notes=dict(reader.notes))


class _Reader:
    """One pass over the lines; what is open is closed by an empty line or by what cannot go on."""

    def __init__(self, lines: list[str]) -> None:
        self.builder = Builder()
        self.title = ""
        self.metadata: dict[str, str] = {}
        self.notes: Counter[str] = Counter()
        self._lines = lines
        self._place = 0
        self._open: list[str] = []  # lines of the paragraph or item that is open
        self._marker: tuple[int, str] | None = None  # of the open item: depth, mark
        self._marks: list[str] = []  # of the lists that are open
        self._numbers: list[int] = []
        self._block = ""  # the attributes in brackets above a block
        self._values = dict(_KNOWN)
        self._spare = _MAX_FILLED_CHARS
        self._goes_on = False  # a "+" joined what follows to the open item

    def run(self) -> None:
        """Read everything."""
        while self._place < len(self._lines):
            line = self._lines[self._place].rstrip()
            self._place += 1
            self._take(line)
        self._close()

    def _take(self, line: str) -> None:
        body = line.strip()
        if not body:
            self._close()
        elif body.startswith("//") and not body.startswith("////"):
            if not self._open:
                self._marks.clear()  # a comment sets two lists apart
        elif body == "+":
            self._close()
            self._goes_on = bool(self._marks)
        elif not any(
            read(line)
            for read in (self._attribute, self._fence, self._heading, self._macro, self._item)
        ):
            self._plain(line, body)

    def _plain(self, line: str, body: str) -> None:
        """Take what stands above a block, or a line of a paragraph."""
        if _BLOCK_LINE.match(body):
            self._close()
            self._block = body
        elif body[0] == "." and len(body) > 1 and body[1] not in ". ":
            self._close()
            self._marks.clear()
            self.builder.paragraph(self._inline(body[1:]))
        elif body in {"'''", "<<<"}:
            self._close()
        else:
            if not self._open and not self._goes_on and line[0] != " ":
                self._marks.clear()  # a paragraph of its own ends all lists
            if not self._open and line[0] == " " and not self._marks:
                self._indented(line)
            else:
                self._open.append(body)

    def _attribute(self, line: str) -> bool:
        match = _ATTRIBUTE.match(line)
        if match is None or self._open:
            return False
        name, value = match[1].lower(), (match[2] or "").strip()
        self._values[name.strip("!")] = self._filled(value)[:_MAX_VALUE_CHARS]
        key = {"author": "author", "authors": "author", "revdate": "created"}.get(name)
        if key and value:
            self.metadata[key] = value[:_MAX_VALUE_CHARS]
        return True

    def _heading(self, line: str) -> bool:
        match = _HEADING.match(line)
        if match is None or self._open:
            return False
        self._marks.clear()
        level, text = len(match[1]), self._inline(match[2])
        is_discrete = "discrete" in self._block or "float" in self._block
        self._block = ""
        is_header = level == 1 and self.builder.is_empty and not is_discrete
        self.builder.heading(level, text)
        if is_header:
            self.title = text
            self._header()
        elif level == 1 and self._values.get("doctype") != "book":  # in a book it is a part
            self.title = ""
        return True

    def _header(self) -> None:
        """Read the author's line and the revision's, right below the title."""
        for place in range(2):
            line = self._lines[self._place].strip() if self._place < len(self._lines) else ""
            revision = _REVISION.match(line)
            if revision:
                self.metadata["created"] = revision[1]
            elif (
                place
                or not line
                or line[0] in ":/[=|.*-"
                or not (_MAIL.search(line) or ";" in line)
            ):
                return
            else:
                self.metadata["author"] = ", ".join(
                    part.strip() for part in _MAIL.sub("", line).split(";")
                )[:_MAX_VALUE_CHARS]
            self._place += 1

    def _fence(self, line: str) -> bool:
        """Read a block between two equal lines, or take the mark of one that holds blocks."""
        body = line.strip()
        match = _FENCE.match(body) if len(body) >= 2 else None
        if match is None:
            return False
        self._close()
        mark = body[0]
        if mark in "|,:!":
            self._table(body)
        elif mark in "-.`+/" and body != "--":
            content = self._until("```" if mark == "`" else body)
            if mark in "-.`":
                self.builder.code("\n".join(content))
            elif mark == "+":
                self.notes["raw passages"] += 1
        elif body == "--" and self._block.startswith(("[source", "[listing")):
            self.builder.code("\n".join(self._until(body)))
        self._block = ""
        return True

    def _table(self, fence: str) -> None:
        rows = rows_of(self._until(fence), self._block, fence[0])
        self.builder.table([[self._inline(cell) for cell in row] for row in rows])

    def _macro(self, line: str) -> bool:
        match = _BLOCK_MACRO.match(line.strip())
        if match is None or match[1] + "::" not in line:
            return False
        self._close()
        if match[1] == "image":
            self._add(self._inline(match[3].split(",")[0].strip('" ')))
        elif match[1] == "include":
            self.notes["includes"] += 1
        elif match[1] in {"ifdef", "ifndef"} and match[3]:
            self._add(self._inline(match[3]))
        return True

    def _item(self, line: str) -> bool:
        match = _ITEM.match(line.strip())
        if match is None or (self._open and self._marker is None):
            return self._term(line)
        self._close()
        mark = match[1] if match[1][0] in "*.-<" else "1."
        if mark in self._marks:
            del (
                self._marks[self._marks.index(mark) + 1 :],
                self._numbers[self._marks.index(mark) + 1 :],
            )
        else:
            self._marks.append(mark)
            del self._numbers[len(self._marks) - 1 :]
            self._numbers.append(0)
        self._numbers[len(self._marks) - 1] += 1
        is_plain = mark[0] in "*-"
        label = "-" if is_plain else f"{self._numbers[len(self._marks) - 1]}."
        self._marker = (len(self._marks) - 1, label)
        self._open.append(match[2])
        return True

    def _term(self, line: str) -> bool:
        match = _TERM.match(line.strip())
        if match is None or self._open:
            return False
        self._marks.clear()
        self.builder.paragraph(self._inline(match[1]))
        if match[3]:
            self._open.append(match[3])
        return True

    def _indented(self, line: str) -> None:
        """Read a paragraph that begins with a space: it stands as it is written."""
        lines = [line]
        while self._place < len(self._lines) and self._lines[self._place].strip():
            lines.append(self._lines[self._place])
            self._place += 1
        indent = min(len(text) - len(text.lstrip()) for text in lines)
        self.builder.code("\n".join(text[indent:] for text in lines))

    def _until(self, fence: str) -> list[str]:
        """Take the lines up to a fence, or to the end."""
        lines: list[str] = []
        while self._place < len(self._lines):
            line = self._lines[self._place].rstrip()
            self._place += 1
            if line.strip() == fence:
                break
            lines.append(line)
        return lines

    def _close(self) -> None:
        """Write what is open."""
        if not self._open:
            return
        # A "+" at the end of a line breaks it.
        lines = [
            line[:-2].rstrip() + "\n" if line.endswith(" +") else line + " " for line in self._open
        ]
        text = self._inline("".join(lines).strip())
        self._open.clear()
        if self._block.startswith(("[source", "[listing", "[literal")):
            self.builder.code(text)
        elif self._marker:
            depth, label = self._marker
            self.builder.item(text, depth=depth, marker=label)
        else:
            self._add(text)
        self._marker, self._goes_on, self._block = None, False, ""

    def _add(self, text: str) -> None:
        """Add a paragraph, or what continues an item."""
        if self._goes_on and self._marks:
            self.builder.item(text, depth=len(self._marks) - 1, marker="")
        else:
            self.builder.paragraph(text)

    def _inline(self, text: str) -> str:
        """Fill attributes in, and leave of macros, links and anchors their text."""
        text = _CROSS.sub(lambda m: (m[2] or m[1]).strip(), _ANCHOR.sub("", self._filled(text)))
        return _MACRO.sub(lambda m: m[3].strip() or m[2] or m[1] or "", text)

    def _filled(self, text: str) -> str:
        return _REFERENCE.sub(self._value, text) if "{" in text else text

    def _value(self, match: re.Match[str]) -> str:
        value = self._values.get(match[1].lower(), match[0])
        self._spare -= len(value)
        return value if self._spare > 0 else match[0]
