"""Parse Rich Text (.rtf): paragraphs, headings, lists, tables and footnotes; title and author.

Headers, footers, pictures, hidden text and what other programs left for themselves are left out.
Groups are kept on a list, so depth costs no stack.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace

from ragkit.errors import IngestError
from ragkit.types import ParsedText
from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.labels import labelled
from ragkit_ingest.parse.office.rtftokens import (
    SET_NAMES,
    Token,
    check,
    codec_of_charset,
    codec_of_page,
    tokens,
)
from ragkit_ingest.parse.options import ParseOptions

_MAX_GROUPS = 2_000  # arbitrary; of groups in each other, programs write some twenty
_MAX_VALUE_CHARS = 200
_HEADING = re.compile(r"(?:heading|标题|標題) ?([1-9]);", re.IGNORECASE)
# Destinations that are not of the text. One that is marked with \* is dropped, unless known here.
_DROPPED = frozenset(
    "colortbl header headerl headerr headerf footer footerl footerr footerf pict nonshppict"
    " filetbl xe tc txe template ftnsep ftnsepc aftnsep aftnsepc revtbl listtable upr"
    " annotation atnid atnauthor atndate atnref objdata keywords doccomm operator company"
    " category manager hlinkbase comment vern subject".split()
)
_VALUES = frozenset({"title", "author"})  # of the file's description
_LABELS = frozenset({"listtext", "pntext"})
_KEPT = frozenset({"shptxt", "shpinst", "shprslt"})  # boxes, though they are marked with \*
_CHARACTERS = {
    "tab": " ",
    "line": "\n",
    "lbr": "\n",
    "emdash": "—",
    "endash": "–",
    "lquote": "‘",
    "rquote": "’",
    "ldblquote": "“",
    "rdblquote": "”",
    "bullet": "•",
    "emspace": " ",
    "enspace": " ",
    "nestcell": " ",
    "nestrow": " ",
}
_SIGNS = {"~": " ", "_": "-", "\\": "\\", "{": "{", "}": "}", "\n": "", "\r": ""}
_ENDS = frozenset({"par", "page", "sect", "column"})


@dataclass(frozen=True, slots=True)
class _Group:
    """What holds up to the end of a group."""

    destination: str = ""
    is_hidden: bool = False
    skipped: int = 1  # characters after one in Unicode, which say the same
    codec: str | None = None  # of its font; "" where the document's own counts


class _Paragraph:
    """What is said of a paragraph."""

    def __init__(self) -> None:
        self.style = 0
        self.level: int | None = None
        self.depth = 0
        self.in_table = False


class _Reader:
    """Takes tokens; `builder` has what they made."""

    def __init__(self, options: ParseOptions) -> None:
        self.builder = Builder()
        self.notes: Counter[str] = Counter()
        self.values: dict[str, str] = {}
        self._revisions = options.revisions
        self._group = _Group()
        self._groups: list[_Group] = []
        self._codec = "cp1252"
        self._fonts: dict[int, str] = {}
        self._font = self._usual_font = 0  # the first is that which the table of fonts describes
        self._headings: dict[int, int] = {}  # styles that are headings, and their levels
        self._style = 0
        self._bytes = bytearray()  # of text that is to be decoded
        self._line: list[str] = []
        self._lines: list[list[str]] = []  # of the text around open footnotes
        self._footnotes: list[str] = []
        self._paragraph = _Paragraph()
        self._marker = ""
        self._cells: list[str] = []
        self._rows: list[list[str]] = []
        self._is_marked = False  # whether \* came just before
        self._to_skip = 0
        self._begins = False  # whether the group has just been opened

    def take(self, token: Token) -> None:
        """Read a token."""
        if self._to_skip and not token.word and token.sign not in {"open", "close"}:
            token = self._rest(token)
        if token.text:
            self._bytes += token.text
        elif token.sign == "open":
            self._decode()
            if len(self._groups) >= _MAX_GROUPS:
                raise IngestError("parse", f"groups nested deeper than {_MAX_GROUPS:,}")
            self._groups.append(self._group)
            self._begins = True
            return
        elif token.sign == "close":
            self._close()
        elif token.sign == "*":
            self._is_marked = True
            return
        elif token.sign:
            self._decode()
            self._add(_SIGNS.get(token.sign, ""))
        elif token.word:
            self._decode()
            self._word(token.word, token.number)
        self._begins = self._is_marked = False

    def end(self) -> None:
        """End the last paragraph, and write the footnotes."""
        while self._groups:
            self._close()
        self._paragraph.in_table = False
        self._end_paragraph()
        self._end_table()
        for number, text in enumerate(self._footnotes, 1):
            self.builder.paragraph(f"[^{number}]: {text}")

    def _rest(self, token: Token) -> Token:
        """Leave out what stands for a character in Unicode that came before."""
        if token.sign:
            self._to_skip -= 1
            return Token()
        dropped = min(self._to_skip, len(token.text))
        self._to_skip -= dropped
        return Token(text=token.text[dropped:])

    def _close(self) -> None:
        self._decode()
        self._to_skip = 0
        outer = self._groups.pop() if self._groups else _Group()
        name = self._group.destination
        self._group = outer
        if name == outer.destination:
            return
        text = "".join(self._line).strip()
        if name == "footnote" and self._lines:
            self._line = self._lines.pop()
            self._footnotes.append(" ".join(text.split()))
            self._line.append(f"[^{len(self._footnotes)}]")
        elif name in _VALUES | _LABELS and self._lines:
            self._line = self._lines.pop()
            if name in _VALUES:
                self.values.setdefault(name, " ".join(text.split()))
            else:
                self._marker = text

    def _word(self, word: str, number: int | None) -> None:
        if self._begins and self._destination(word):
            return
        name = self._group.destination
        if word == "u" and number is not None:
            self._add(chr(number & 0xFFFF))
            self._to_skip = self._group.skipped
        elif name == "fonttbl":
            self._font_word(word, number)
        elif name == "stylesheet":
            self._style_word(word, number)
        elif word in _CHARACTERS:
            self._add(_CHARACTERS[word])
        elif word in {"v", "deleted", "revised"}:
            self._hide(word, shown=number == 0)
        elif word in {"uc", "f", "plain", "ansicpg", "deff"} or word in SET_NAMES:
            self._text_word(word, number or 0)
        elif not name or name == "footnote":
            self._paragraph_word(word, number)

    def _destination(self, word: str) -> bool:
        """Begin a destination, if the first word of a group names one."""
        around = self._group.destination
        if around in _DROPPED or around == "dropped":
            self._group = replace(self._group, destination="dropped")
            return True
        is_value = word in _VALUES and around == "info"
        if word in {"annotation", "atrfstart"}:
            self.notes["comments"] += word == "annotation"
        if is_value or word in _LABELS or word == "footnote":
            self._lines.append(self._line)
            self._line = []
        elif self._is_marked and word not in _KEPT:
            word = "dropped"
        elif word not in _DROPPED | {"fonttbl", "stylesheet", "info"}:
            return False
        self._group = replace(self._group, destination=word)
        return True

    def _font_word(self, word: str, number: int | None) -> None:
        if word == "f":
            self._font = number or 0
        elif word == "fcharset" and number is not None:
            self._fonts[self._font] = codec_of_charset(number)
        elif word == "cpg" and number:
            self._fonts[self._font] = codec_of_page(number)

    def _style_word(self, word: str, number: int | None) -> None:
        if word == "s":
            self._style = number or 0
        elif word == "outlinelevel" and number is not None and number < 9:
            self._headings[self._style] = number + 1

    def _text_word(self, word: str, number: int) -> None:
        if word == "uc":
            self._group = replace(self._group, skipped=min(max(number, 0), 10))
        elif word == "f":
            self._group = replace(self._group, codec=self._fonts.get(number, ""))
        elif word == "plain":
            self._group = replace(self._group, is_hidden=False, codec=None)
        elif word == "deff":
            self._usual_font = number
        elif word == "ansicpg":
            self._codec = codec_of_page(number)
        else:
            self._codec = SET_NAMES[word]

    def _hide(self, word: str, *, shown: bool) -> None:
        """Leave out hidden text, and the side of a change that is not asked for."""
        if word == "v":
            kind, is_hidden = "hidden text", True
        else:
            kind = "tracked changes"
            is_hidden = self._revisions == ("accepted" if word == "deleted" else "original")
        if is_hidden:
            self.notes[kind] += not shown
            self._group = replace(self._group, is_hidden=not shown)

    def _paragraph_word(self, word: str, number: int | None) -> None:
        if word in _ENDS:
            self._end_paragraph()
        elif word == "cell":
            self._cells.append(" ".join("".join(self._line).split()))
            self._line.clear()
            self._marker = ""
        elif word == "row":
            self._rows.append(self._cells)
            self._cells = []
        elif word == "pard":
            self._paragraph = _Paragraph()
        elif word == "intbl":
            self._paragraph.in_table = True
        elif word == "s":
            self._paragraph.style = number or 0
        elif word == "outlinelevel" and number is not None and number < 9:
            self._paragraph.level = number + 1
        elif word == "ilvl":
            self._paragraph.depth = min(max(number or 0, 0), 9)

    def _add(self, text: str) -> None:
        name = self._group.destination
        is_text = not name or name in _VALUES | _LABELS | _KEPT | {"footnote"}
        if not is_text or self._group.is_hidden:
            return
        if self._line and _is_high(self._line[-1]) and "\udc00" <= text <= "\udfff":
            pair = (self._line.pop() + text).encode("utf-16-le", "surrogatepass")
            text = pair.decode("utf-16-le")
        self._line.append(text)

    def _decode(self) -> None:
        """Write the bytes that came since the last word, in the font's code page."""
        if self._bytes:
            codec = self._group.codec
            if codec is None:
                codec = self._fonts.get(self._usual_font, "")
            text = bytes(self._bytes).decode(codec or self._codec, "replace")
            self._bytes.clear()
            named = _HEADING.match(text) if self._group.destination == "stylesheet" else None
            if named:
                self._headings.setdefault(self._style, int(named[1]))
            self._add(text)

    def _end_paragraph(self) -> None:
        if self._lines or self._paragraph.in_table:
            self._line.append("\n")  # in a footnote or a cell
            return
        text, marker = "".join(self._line).strip(), self._marker
        self._line.clear()
        self._marker = ""
        if not text:
            return
        self._end_table()
        level = self._paragraph.level or self._headings.get(self._paragraph.style)
        if level is not None:
            self.builder.heading(level, f"{marker} {text}".strip())
        elif marker:
            marker = marker if any(map(str.isalnum, marker)) else "-"
            self.builder.item(text, depth=self._paragraph.depth, marker=" ".join(marker.split()))
        else:
            self.builder.paragraph(text)

    def _end_table(self) -> None:
        rows = [row for row in self._rows if any(row)]
        if self._cells:
            rows.append(self._cells)
        self._rows, self._cells = [], []
        self.builder.table(rows)


def _is_high(text: str) -> bool:
    """Say whether a text is the first half of a character beyond 16 bits."""
    return "\ud800" <= text <= "\udbff"


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse a Rich Text file. Raises IngestError for what is none."""
    check(data)
    reader = _Reader(options)
    for token in tokens(data):
        reader.take(token)
    reader.end()
    author = reader.values.get("author", "")[:_MAX_VALUE_CHARS]
    metadata = {"author": author} if author else {}
    parsed = reader.builder.result(title=reader.values.get("title", ""), metadata=metadata)
    return labelled(parsed, {}, reader.notes)
