"""Parse TeX and LaTeX sources (.tex): sections, lists, tables, code and the text without commands.

Nothing is executed: macros of the author's own are not expanded, formulas stay as they are written,
files that are included are counted.
"""

from __future__ import annotations

import unicodedata
from collections import Counter

from ragkit.text.normalise import clean
from ragkit.types import ParsedText
from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.decode import decode
from ragkit_ingest.parse.labels import labelled
from ragkit_ingest.parse.markup.textokens import Tokens, tokens_of
from ragkit_ingest.parse.markup.texwords import (
    ACCENTS,
    ARGUMENTS,
    CHARACTERS,
    CODE,
    DRAWINGS,
    DROPPED,
    FORMULAS,
    HEADINGS,
    INCLUDES,
    LISTS,
    REFERENCES,
    SIGNS,
    TABLES,
)
from ragkit_ingest.parse.options import ParseOptions

_MAX_DEPTH = 20  # arbitrary; of arguments in arguments, deeper ones are left out
_MAX_VALUE_CHARS = 200
_MAX_OPTION = 200  # arbitrary; tokens of an argument in square brackets
_FRAME = 4  # tokens of "\begin{name}" and of "\end{name}"


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse a TeX source in any encoding that `decode` knows; raise IngestError for binary data."""
    return _Reader(tokens_of(clean(decode(data)))).parsed()


class _Reader:
    """Writes blocks to a builder; text is collected in `_line` until its block ends."""

    def __init__(self, source: Tokens) -> None:
        self._source = source
        self._tokens = source.tokens
        self._builder = Builder()
        self._notes: Counter[str] = Counter()
        self._footnotes: list[str] = []
        self._line: list[str] = []
        self._lists: list[int | None] = []  # the number of the last item; None where none counts
        self._marker = ""
        self._depth = 0  # of arguments that are being read
        self._in_formula = False
        names = {word[1:].rstrip("*") for word in self._tokens if word.startswith("\\")}
        levels = [HEADINGS[name] for name in names & (HEADINGS.keys() - {"part"})]
        self._top = min(levels, default=1)

    def parsed(self) -> ParsedText:
        """Read the document's body; title, author and date stand before or in it."""
        places = {
            word[1:]: place
            for place, word in reversed([*enumerate(self._tokens)])
            if word in {"\\title", "\\author", "\\date"}
        }
        title, author, date = (
            self._value(places.get(name)) for name in ("title", "author", "date")
        )
        if title:
            self._builder.heading(1, title)
            self._top -= 1
        begins = (
            place for place in self._source.ends if self._source.environment(place) == "document"
        )
        start = next(begins, None)
        end = len(self._tokens) if start is None else self._source.ends[start]
        place = 0 if start is None else start + _FRAME
        while place < end:
            place = self._take(place, end)
        self._flush()
        for number, text in enumerate(self._footnotes, 1):
            self._builder.paragraph(f"[^{number}]: {text}")
        values = {"author": author, "created": date}
        metadata = {key: value[:_MAX_VALUE_CHARS] for key, value in values.items() if value}
        return labelled(self._builder.result(title=title, metadata=metadata), {}, self._notes)

    def _value(self, place: int | None) -> str:
        """Read the argument of a command at a place, in one line."""
        return " ".join(self._argument(place + 1)[0].split()) if place is not None else ""

    def _take(self, place: int, end: int) -> int:
        """Read what begins with a word; return the place after it."""
        word = self._tokens[place]
        if word in {"\\begin", "\\end"} and self._source.environment(place):
            return self._begin(place, end) if word == "\\begin" else self._end(place)
        if word == "$" or word in {"\\(", "\\)", "\\[", "\\]"}:
            return self._formula_mark(place, word)
        if self._in_formula and not word.startswith("\n\n"):
            self._line.append(word)
        elif word.startswith("\\"):
            return self._command(place, end)
        elif word.startswith("\n") and word.count("\n") > 1:
            self._in_formula = False
            self._flush()
        elif word not in {"{", "}"}:
            self._line.append(_written(word))
        return place + 1

    def _formula_mark(self, place: int, word: str) -> int:
        """Go in or out of a formula, whose source stays as it is."""
        double = word == "$" and self._tokens[place + 1 : place + 2] == ["$"]
        self._line.append("$$" if double else word)
        if word == "$":
            self._in_formula = not self._in_formula
        else:
            self._in_formula = word in {"\\(", "\\["}
        return place + 1 + double

    def _begin(self, place: int, end: int) -> int:
        name, last = self._source.environment(place), self._source.ends.get(place, end)
        next_place = min(place + _FRAME, end)
        if name in LISTS:
            self._flush()
            self._lists.append(0 if LISTS[name] else None)
            return self._past_options(next_place)
        if last >= end:  # it is not closed
            return next_place
        if name in DRAWINGS or name == "comment":
            self._notes["drawings"] += name in DRAWINGS
            return last + _FRAME
        if name in CODE and not self._depth:
            next_place = self._past(self._past_options(next_place), ARGUMENTS.get(name, 0))
            self._flush()
            self._builder.code(self._source.text(next_place, last))
            return last + _FRAME
        return self._environment(name, next_place, last)

    def _environment(self, name: str, place: int, end: int) -> int:
        """Read a formula or a table; go into any other environment."""
        self._flush()
        if name in FORMULAS | CODE:
            self._line.append(self._source.text(place, end))
            self._flush()
            return end + _FRAME
        place = self._past(self._past_options(place), ARGUMENTS.get(name, 0))
        if name in TABLES and not self._depth:
            self._builder.table(self._rows(place, end))
            return end + _FRAME
        return place

    def _end(self, place: int) -> int:
        self._flush()
        if self._source.environment(place) in LISTS and self._lists:
            self._lists.pop()
        return place + _FRAME

    def _rows(self, place: int, end: int) -> list[list[str]]:
        """Read a table's cells, which "&" and a line end part."""
        rows: list[list[str]] = [[]]
        start = place
        while place < end:
            word = self._tokens[place]
            if word in {"&", "\\\\", "\\tabularnewline"}:
                rows[-1].append(self._inline(start, place))
                if word != "&":
                    rows.append([])
                    place = self._past_options(place + 1) - 1
                start = place + 1
            elif word == "{":
                place = min(self._source.closing.get(place, place), end)
            elif word == "\\begin":
                place = min(self._source.ends.get(place, place), end)
            place += 1
        rows[-1].append(self._inline(start, end))
        return [row for row in rows if any(row)]

    def _command(self, place: int, end: int) -> int:
        name = self._tokens[place][1:]
        plain, next_place = name.rstrip("*"), place + 1
        if plain in HEADINGS:
            text, next_place = self._argument(self._past_options(next_place))
            self._flush()
            self._builder.heading(HEADINGS[plain] - self._top + 1, text)
        elif name == "item":
            next_place = self._item(next_place)
        elif name in {"footnote", "footnotetext", "caption"}:
            next_place = self._aside(name, next_place)
        elif name in ACCENTS and (
            not name.isalpha() or self._tokens[next_place : next_place + 1] == ["{"]
        ):
            next_place = self._accent(ACCENTS[name], next_place)
        elif name in CHARACTERS:
            self._line.append(CHARACTERS[name])
            self._strip(next_place)
        elif name == "verb":
            next_place = self._verbatim(next_place, end)
        elif name in INCLUDES:
            self._notes["includes"] += 1
            next_place = self._past(self._past_options(next_place), 1)
        elif plain in REFERENCES or name == "bibitem":
            next_place = self._reference(name, next_place)
        elif name in DROPPED:
            next_place = self._past(next_place, DROPPED[name])
        elif name.isalpha():
            next_place = self._past_options(next_place)
        else:
            self._line.append(_sign(name))
        return next_place

    def _item(self, place: int) -> int:
        """Begin an item; a label in square brackets stands before its text."""
        self._flush()
        next_place = self._past_options(place)
        if self._lists and self._lists[-1] is not None:
            self._lists[-1] += 1
            self._marker = f"{self._lists[-1]}."
        else:
            self._marker = "-"
        if next_place > place:
            self._line.append(self._inline(place + 1, next_place - 1) + ": ")
        return next_place

    def _aside(self, name: str, place: int) -> int:
        text, next_place = self._argument(self._past_options(place))
        text = " ".join(text.split())
        if name == "caption":
            self._flush()
            self._line.append(text)
            self._flush()
        elif text:
            self._footnotes.append(text)
            self._line.append(f"[^{len(self._footnotes)}]" if name == "footnote" else "")
        return next_place

    def _accent(self, mark: str, place: int) -> int:
        """Put an accent on the letter that follows."""
        if self._tokens[place : place + 1] == ["{"]:
            text, next_place = self._argument(place)
        else:
            next_place = place + 1
            text = self._tokens[place].lstrip() if place < len(self._tokens) else ""
            if text.startswith("\\"):
                text = CHARACTERS.get(text[1:], "")
        letter = {"ı": "i", "ȷ": "j"}.get(text[:1], text[:1])
        mark = mark if letter.isalpha() else ""
        self._line.append(unicodedata.normalize("NFC", letter + mark) + _written(text[1:]))
        return next_place

    def _verbatim(self, place: int, end: int) -> int:
        """Copy what two equal characters enclose."""
        text = self._source.text(place, min(place + _MAX_OPTION, end))
        close = text.find(text[:1], 1) if text else -1
        if close < 0:
            return place
        self._line.append(text[1:close])
        size = 0
        while size <= close:
            size += len(self._tokens[place])
            place += 1
        self._line.append(text[close + 1 : size])
        return place

    def _reference(self, name: str, place: int) -> int:
        start = place
        while (next_place := self._past_options(start)) > start:
            start = next_place
        inner, next_place = self._group(start)
        key = self._source.text(*inner).strip()
        if name == "bibitem":
            self._flush()
            self._marker = "-"
        self._line.append(f"[{key}]" + (" " if name == "bibitem" else ""))
        return next_place

    def _argument(self, place: int) -> tuple[str, int]:
        """Read an argument in braces; return its text and the place after it."""
        inner, next_place = self._group(place)
        return self._inline(*inner), next_place

    def _inline(self, place: int, end: int) -> str:
        """Read a part of the source as running text."""
        if self._depth >= _MAX_DEPTH:
            return ""
        line, in_formula = self._line, self._in_formula
        self._line, self._in_formula = [], False
        self._depth += 1
        while place < end:
            place = self._take(place, end)
        self._depth -= 1
        text = "".join(self._line)
        self._line, self._in_formula = line, in_formula
        return text.strip()

    def _group(self, place: int) -> tuple[tuple[int, int], int]:
        """Find an argument: where it begins and ends, and the place after its brace."""
        while place < len(self._tokens) and self._tokens[place].isspace():
            place += 1
        close = self._source.closing.get(place)
        if close is not None:
            return (place + 1, close), close + 1
        is_command = place < len(self._tokens) and self._tokens[place].startswith("\\")
        return (place, place), place + is_command

    def _past(self, place: int, groups: int) -> int:
        """Pass over so many arguments, and those in square brackets between them."""
        for _ in range(groups):
            place = self._group(self._past_options(place))[1]
        return place

    def _past_options(self, place: int) -> int:
        """Pass over an argument in square brackets, if there is one."""
        if self._tokens[place : place + 1] != ["["]:
            return place
        for close in range(place + 1, min(place + _MAX_OPTION, len(self._tokens))):
            if self._tokens[close] == "]":
                return close + 1
        return place

    def _strip(self, place: int) -> None:
        """Take the space after a command away: it only ends the command's name."""
        if place < len(self._tokens):
            self._tokens[place] = self._tokens[place].lstrip(" ") or "{"

    def _flush(self) -> None:
        """End the block that is being written; in an argument only a word ends."""
        if self._depth:
            self._line.append(" ")
            return
        text = "\n".join(" ".join(line.split()) for line in "".join(self._line).split("\n"))
        self._line.clear()
        if not text.strip():
            return
        if self._lists or self._marker:
            self._builder.item(text, depth=max(len(self._lists) - 1, 0), marker=self._marker)
            self._marker = ""
        else:
            self._builder.paragraph(text)


def _written(text: str) -> str:
    """Write a run of text with the characters that its signs stand for."""
    if text in {"\n", "~", "&"}:
        return " "
    for sign, character in SIGNS:
        text = text.replace(sign, character)
    return text


def _sign(name: str) -> str:
    """Return what a command of one character that is no letter stands for."""
    if name == "\\":
        return "\n"
    return name if name in {"%", "&", "#", "_", "{", "}", "$"} else " " if name in " ,;:\n" else ""
