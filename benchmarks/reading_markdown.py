"""Words, headings and tables of a Markdown text, in a form in which two texts compare.

Reads the Markdown that converters write: ATX and underlined headings, pipe tables, and HTML
headings and tables inside Markdown. It does not render anything and keeps no emphasis, no address
of a page and no picture.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from html import unescape
from html.parser import HTMLParser
from typing import Final

Words = tuple[str, ...]
Table = tuple[tuple[Words, ...], ...]

# Han, kana: each character is a word, because these scripts put no spaces between words.
_CJK: Final = "\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# Letters and digits apart: "H2O" is three words, as "H 2 O" is where a subscript was set apart.
_WORD: Final = re.compile(rf"[{_CJK}]|[^\W\d_{_CJK}]+|\d+")
_TAG: Final = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]*(?:\s[^<>]*)?/?>")
_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)
_ADDRESS: Final = r"\((?:[^()]|\([^()]*\))*\)"
_PICTURE: Final = re.compile(rf"!\[[^\]]*\]{_ADDRESS}")
_LINK: Final = re.compile(rf"\[([^\[\]]*)\]{_ADDRESS}")
_URL: Final = re.compile(r"\b(?:https?|ftp|mailto):[^\s|<>\"]+")
_COMMAND: Final = re.compile(r"\\[a-zA-Z]+")  # of a formula: \frac, \left
_MARKER: Final = re.compile(r"^\s*(?:>\s*)*(?:[-*+•]|\d{1,9}[.)])\s+", re.MULTILINE)
_FENCE: Final = re.compile(r"^\s*(```|~~~)")
_HEADING: Final = re.compile(r"^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$")
_UNDERLINE: Final = re.compile(r"^ {0,3}(?:=+|-{2,})\s*$")
_HTML_HEADING: Final = re.compile(r"<h([1-6])\b[^>]*>(.*?)</h\1>", re.DOTALL | re.IGNORECASE)
_HTML_TABLE: Final = re.compile(r"<table\b.*?</table>", re.DOTALL | re.IGNORECASE)
_DELIMITER: Final = re.compile(r"^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_PIPE: Final = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text says: all its words in order, the words of each heading, and its tables."""

    words: Words
    headings: tuple[Words, ...]
    tables: tuple[Table, ...]


def read_markdown(text: str) -> Reading:
    """Return the words, headings and tables of a Markdown text, each in the order of the text.

    >>> read_markdown("# A *b*\\n\\n| c | 1,2 |\\n| - | - |\\n").tables
    (((('c',), ('1', '2')),),)
    """
    text = _COMMENT.sub(" ", text.replace("\r\n", "\n"))
    lines = _without_code(text)
    outside = "\n".join(lines)
    headings = [*_headings(lines), *(match[2] for match in _HTML_HEADING.finditer(outside))]
    tables = [*_pipe_tables(lines), *_html_tables(outside)]
    unfenced = "\n".join(line for line in text.split("\n") if not _FENCE.match(line))
    return Reading(
        words_of(_MARKER.sub("", unfenced)),
        tuple(heading for heading in map(words_of, headings) if heading),
        tuple(tables),
    )


def words_of(text: str) -> Words:
    """Return the words of a piece of Markdown: compatibility forms unified, letter case folded.

    A word is a run of letters, a run of digits, or a single Han or kana character.

    >>> words_of("**Ｈ2O** in [Straße 漢字](http://a.b)")
    ('h', '2', 'o', 'in', 'strasse', '漢', '字')
    """
    text = _LINK.sub(r"\1", _PICTURE.sub(" ", text))
    text = unescape(_COMMAND.sub(" ", _TAG.sub(" ", _URL.sub(" ", text))))
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def _without_code(text: str) -> list[str]:
    """Return the lines of a text, those of fenced code blocks empty."""
    lines, in_code = [], False
    for line in text.split("\n"):
        is_fence = bool(_FENCE.match(line))
        lines.append("" if in_code or is_fence else line)
        in_code ^= is_fence
    return lines


def _headings(lines: list[str]) -> list[str]:
    texts = []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if match := _HEADING.match(line):
            texts.append(match[1])
        elif _UNDERLINE.match(following) and _WORD.search(line) and "|" not in line:
            texts.append(line)
    return texts


def _pipe_tables(lines: list[str]) -> list[Table]:
    """Read the tables: a line of cells, a line of dashes, and the lines of cells that follow."""
    tables: list[Table] = []
    end = 0
    for number, line in enumerate(lines):
        is_delimiter = "|" in line and _DELIMITER.match(line)
        if number <= end or not is_delimiter or "|" not in lines[number - 1]:
            continue
        end = number + 1
        while end < len(lines) and _PIPE.search(lines[end]):
            end += 1
        rows = [lines[number - 1], *lines[number + 1 : end]]
        tables.append(_table(_row(row) for row in rows if not _DELIMITER.match(row)))
    return tables


def _table(rows: Iterable[tuple[Words, ...]]) -> Table:
    """Leave out rows without words: Markdown cannot write a table without a head but so."""
    return tuple(row for row in rows if any(row))


def _row(line: str) -> tuple[Words, ...]:
    cells = _PIPE.split(line.strip())
    if not cells[0]:
        cells = cells[1:]
    if cells and not cells[-1]:
        cells = cells[:-1]
    return tuple(words_of(_MARKER.sub("", cell)) for cell in cells)


def _html_tables(text: str) -> list[Table]:
    tables = []
    for match in _HTML_TABLE.finditer(text):
        parser = _TableParser()
        parser.feed(match[0])
        parser.close()
        tables.append(_table(tuple(words_of(cell) for cell in row) for row in parser.rows))
    return tables


class _TableParser(HTMLParser):
    """Rows of cells of one HTML table; a cell that spans columns is repeated in each."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._span = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self._end_cell()
            self.rows.append([])
        elif tag in ("td", "th") and self.rows:
            self._end_cell()
            span = dict(attrs).get("colspan") or "1"
            self._span = min(int(span), 100) if span.isdecimal() else 1
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th", "tr", "table"):
            self._end_cell()

    def handle_data(self, data: str) -> None:
        if self._span:
            self.rows[-1][-1] += f" {data}"

    def _end_cell(self) -> None:
        if self._span:
            self.rows[-1] += self.rows[-1][-1:] * (self._span - 1)
        self._span = 0
