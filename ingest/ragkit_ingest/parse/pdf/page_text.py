"""Read the text layer of a PDF page: its lines, as pdfium gives them, with their places.

Places are those of the page as it is read: turned pages, and pages whose text is turned, included.
"""

from __future__ import annotations

import ctypes
import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ragkit_ingest.parse.pdf.fonts import Fonts
from ragkit_ingest.parse.pdf.lines import RIGHT_TO_LEFT, Box, Gap, Line, has_wide, turned_box

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

_LINE = re.compile(r"[^\r\n]+")
_HYPHEN = re.compile("[\x02\ufffe]")  # pdfium's mark where it joined a hyphenated word
_SPACE = re.compile(" ")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u00ad\ufffe\uffff]")
_ODD = re.compile(f"{_CONTROLS.pattern}|[\ud800-\udfff]")
# Marks of lists: bullets, and what fonts of symbols have for them: control characters, private use.
_MARK = re.compile(
    "[\x01-\x08\x0e-\x1f\x7f\u2022\u2023\u25aa\u25e6\ufffd](?=\\s|$)|[\ue000-\uf8ff]"
)
_WESTERN = re.compile("[\x80-\x9f]")  # of Windows' code page 1252, where a font names no characters
_ITEM = "-"
_INDENT = 5.0  # in line heights: an item is no further from its mark
_RAISED = 0.25  # of a line's height: a word so much higher or lower is on another line
_LEVEL = 0.1  # of a line's height: letters of one line stand on one level, and hardly overlap
_LETTER = 0.12  # of a line's height: white between letters; up to _WORD, it is a space
_WORD = 0.6
_MOSTLY = 0.6  # of a page's characters at one angle: it is read in that direction
_OVER = 0.15  # of a line's height by which a letter may reach over a rule
_UPRIGHT = 0.2  # radians, arbitrary: more is text set at an angle


class PageText:
    """A page's text layer: its lines in pdfium's order, and the places of their letters.

    Control characters and soft hyphens are taken out. Close it after use.
    """

    def __init__(self, page: PdfPage) -> None:
        self._textpage = page.get_textpage()
        self._boxes = _Boxes(self._textpage.raw, page)

    def close(self) -> None:
        self._textpage.close()

    def lines(self) -> list[Line]:
        """Read the lines."""
        text = _text(self._textpage.raw)
        page_lines = self._lines(text)
        turn = _usual_turn(page_lines)
        if turn:
            self._boxes.turn_page(turn)
            page_lines = self._lines(text)
        are_pieces = 3 * sum(len(line.text) == 1 for line in page_lines) >= len(page_lines)
        return _marked(_respelled(page_lines) if are_pieces or turn else page_lines)

    @property
    def turn(self) -> int:
        """The angle by which the page is turned clockwise to read it, its own and its text's."""
        return self._boxes.turn

    def _middle(self, index: int) -> float:
        left, right, _, _ = self._boxes.at(index)
        return (left + right) / 2

    def _lines(self, text: str) -> list[Line]:
        return [
            line
            for match in _LINE.finditer(text)
            for start, end, is_broken in _whole_lines(text, *match.span())
            for line in _lines(text, start, end, self._boxes, is_broken)
        ]

    def cut(self, line: Line, x: float) -> list[Line]:
        """Cut a line between two of its letters, where nothing but a rule at `x` parts them."""
        body = line.text.rstrip()
        if line.first < 0 or not line.left < x < line.right:
            return [line]
        at = bisect_left(range(len(body)), x, key=lambda place: self._middle(line.first + place))
        if not 0 < at < len(body):
            return [line]
        end, start = self._boxes.at(line.first + at - 1)[1], self._boxes.at(line.first + at)[0]
        if end - x > _OVER * line.height or x - start > _OVER * line.height:
            return [line]
        gaps = [gap for gap in line.gaps if gap[1] <= x], [gap for gap in line.gaps if gap[0] >= x]
        return [
            replace(
                line, text=f"{body[:at].rstrip()} ", right=end, gaps=tuple(gaps[0]),
                has_gap=has_wide(gaps[0], line.height), is_broken=False,
            ),
            replace(
                line, text=line.text[at:].lstrip(), left=start, gaps=tuple(gaps[1]),
                has_gap=has_wide(gaps[1], line.height),
                first=line.first + at if not body[at].isspace() else -1,
            ),
        ]  # fmt: skip


def _usual_turn(lines: Sequence[Line]) -> int:
    """Give the angle that most of a page's text is set at; 0 where it is none of the quarters."""
    chars: Counter[int] = Counter()
    for line in lines:
        chars[line.turn] += len(line.text)
    turn, count = max(chars.items(), key=lambda item: item[1], default=(0, 0))
    return turn if turn > 0 and count > _MOSTLY * sum(chars.values()) else 0


def _respelled(lines: Sequence[Line]) -> list[Line]:
    """Join letters and words that pdfium takes for lines, as it does on pages of few lines far
    apart and of text that is turned."""
    joined: list[Line] = []
    for line in lines:
        last = joined[-1] if joined else None
        gap = line.left - last.right if last else 0.0
        if (
            last
            and abs(last.bottom - line.bottom) <= _LEVEL * line.height
            and last.font == line.font
            and not (last.is_turned or last.is_broken)
            and -_LEVEL * line.height <= gap <= _WORD * line.height
        ):
            has_space = gap > _LETTER * line.height or last.text.endswith(" ")
            joined[-1] = replace(
                last,
                text=last.text.rstrip() + (" " if has_space else "") + line.text,
                right=line.right,
                gaps=(*last.gaps, *([(last.right, line.left)] if has_space else []), *line.gaps),
                is_broken=line.is_broken,
                first=-1,
            )
        else:
            joined.append(line)
    return joined


def _marked(lines: Sequence[Line]) -> list[Line]:
    """Put the marks of lists, where pdfium gives them as lines, before their items."""
    joined: list[Line] = []
    for line in lines:
        last = joined[-1] if joined else None
        if (
            last
            and _MARK.fullmatch(last.text.strip())
            and abs(last.middle - line.middle) <= max(last.height, line.height) / 2
            and 0 <= line.left - last.right <= _INDENT * max(line.height, last.height)
            and not (last.is_turned or line.is_turned)
        ):
            gaps = ((last.right, line.left), *line.gaps)
            text = f"{_ITEM} {line.text}"
            joined[-1] = replace(line, text=text, left=last.left, gaps=gaps, first=-1)
        else:
            joined.append(line)
    return joined


def _text(handle: object) -> str:
    """Give a page's text with one character per index, so that places in it are pdfium's own."""
    from pypdfium2 import raw

    count = max(raw.FPDFText_CountChars(handle), 0)
    buffer = (ctypes.c_ushort * (count + 1))()
    # All at once is ten times as fast, but leaves out characters that pdfium has no code for, and
    # what takes two codes would be one character.
    if raw.FPDFText_GetText(handle, 0, count, buffer) == count + 1:
        text = bytes(buffer)[:-2].decode("utf-16-le", "surrogatepass")
        if len(text) == count:
            return _readable(text.replace("\0", "\ufffd"))
    codes = [raw.FPDFText_GetUnicode(handle, index) for index in range(count)]
    return _readable("".join(map(_character, codes)))


def _readable(text: str) -> str:
    return _WESTERN.sub(_western, text) if _WESTERN.search(text) else text


def _western(match: re.Match[str]) -> str:
    try:
        return match.group().encode("latin-1").decode("cp1252")
    except UnicodeDecodeError:
        return match.group()


class _Boxes:
    """Asks pdfium where characters are."""

    def __init__(self, handle: object, page: PdfPage) -> None:
        from pypdfium2 import raw

        self._handle = handle
        self._ask = raw.FPDFText_GetLooseCharBox
        self._ask_angle = raw.FPDFText_GetCharAngle
        self._rectangle = raw.FS_RECTF()
        self._pointer = ctypes.byref(self._rectangle)
        self.turn: int = page.get_rotation()
        self.fonts = Fonts(handle)

    def at(self, index: int) -> Box:
        """Give (left, right, bottom, top) of one character, as the page is shown."""
        if not self._ask(self._handle, index, self._pointer):
            return 0.0, 0.0, 0.0, 0.0
        rectangle = self._rectangle
        left, right, bottom, top = rectangle.left, rectangle.right, rectangle.bottom, rectangle.top
        return (
            turned_box(self.turn, left, right, bottom, top)
            if self.turn
            else (left, right, bottom, top)
        )

    def turn_page(self, turn: int) -> None:
        """Turn the page clockwise, so that what was set at that angle stands upright."""
        self.turn = (self.turn + turn) % 360

    def turn_of(self, index: int) -> int:
        """Give the angle of a character to the page as it is read: a quarter, or -1."""
        # pdfium counts a character's angle clockwise.
        angle = -self._ask_angle(self._handle, index) - math.radians(self.turn)
        quarter = round(angle / (math.pi / 2))
        is_straight = abs(angle - quarter * math.pi / 2) <= _UPRIGHT
        return quarter * 90 % 360 if is_straight else -1


def _whole_lines(text: str, start: int, end: int) -> Iterator[tuple[int, int, bool]]:
    """Take apart what pdfium joined: (start, end, whether it ends within a word)."""
    for mark in _HYPHEN.finditer(text, start, end):
        if mark.start() > start:
            yield start, mark.start(), True
        start = mark.end()
    yield start, end, False


def _lines(text: str, start: int, end: int, boxes: _Boxes, is_broken: bool) -> list[Line]:
    """Make a line, or several where the text goes back: a row's cells come in any order."""
    words = text[start:end]
    first = start + len(words) - len(words.lstrip())
    body = words.strip()
    tail = "-" if is_broken else " " if words[-1:].isspace() else ""
    if RIGHT_TO_LEFT.search(body):
        gaps = [
            (boxes.at(first + at.start() - 1)[1], boxes.at(first + at.end())[0])
            for at in _SPACE.finditer(body)
        ]
        return [replace(line, gaps=()) for line in _line(body, first, boxes, gaps, tail)]
    lines: list[Line] = []
    gaps = []
    begin = 0
    for match in _SPACE.finditer(body):
        place = match.start()
        previous, following = boxes.at(first + place - 1), boxes.at(first + place + 1)
        if _is_elsewhere(previous, following):
            lines += _line(body[begin:place], first + begin, boxes, gaps, " ")
            begin, gaps = place + 1, []
        else:
            gaps.append((previous[1], following[0]))
    return lines + _line(body[begin:], first + begin, boxes, gaps, tail)


def _is_elsewhere(previous: Box, following: Box) -> bool:
    """Say whether a word stands before the last one, or beside it and higher or lower."""
    height = following[3] - following[2]
    moved = (
        abs(following[2] - previous[2]) > _RAISED * height
        and following[0] - previous[1] > height / 2
    )
    return moved or previous[0] - following[0] > height


def _line(body: str, first: int, boxes: _Boxes, gaps: Sequence[Gap], tail: str) -> list[Line]:
    clean = body
    if len(body) > 1 and _MARK.match(body):
        clean = _ITEM + body[1:] if body[1:2].strip() == "" else f"{_ITEM} {body[1:]}"
    is_altered = len(clean) > len(body)
    if is_altered:
        after_mark = boxes.at(first)[1]
        gaps = [(after_mark, after_mark), *gaps]
    if _ODD.search(clean):
        is_altered = True
        clean = " ".join([_paired(_CONTROLS.sub("", word)) for word in clean.split(" ")])
    if not clean.strip():
        return []
    begin, finish = boxes.at(first), boxes.at(first + len(body) - 1)
    height = max(begin[3] - begin[2], finish[3] - finish[2])
    turn = boxes.turn_of(first)
    if turn:
        gaps = []
        height = max(begin[3], finish[3]) - min(begin[2], finish[2])
    line = Line(
        clean + tail,
        min(begin[0], finish[0]),
        max(begin[1], finish[1]),
        min(begin[2], finish[2]),
        height,
        tuple(gaps),
        has_wide(gaps[1:] if clean.startswith(f"{_ITEM} ") else gaps, height),
        tail == "-",
        turn,
        font=boxes.fonts.of(body, first),
        first=-1 if is_altered else first,
    )
    return [line]


def _character(code: int) -> str:
    return chr(code) if 0 < code <= 0x10FFFF else "\ufffd"


def _paired(text: str) -> str:
    """Join the halves of characters beyond the basic plane, which pdfium gives one by one."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
