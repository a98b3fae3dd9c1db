"""Tables without rules under a bold head: the lines below it keep to columns as it does."""

from __future__ import annotations

from collections.abc import Sequence

from ragkit_ingest.parse.pdf.lines import Gap, Line
from ragkit_ingest.parse.pdf.regions import column_of, gutters, parts_of, rows_of

_GAP = 1.0  # in line heights: wider than a space between words
_WHITE = 1.2  # in line heights: more from top to bottom ends a table
_MORE_WHITE = 0.8  # the same where it is more than twice as much as there is above
_HEAD_WHITE = 0.5  # the same between the lines of a head
_SIZES = (0.75, 1.25)  # of the head's: the sizes of a table's text
_MAX_LINES = 150  # arbitrary; of one table on one page
_MAX_TRIES = 40  # ends tried for one table; arbitrary
_MAX_TIGHT = 4  # times the head's length: a longer line is text below a heading
_MAX_TIGHT_CHARS = 40  # arbitrary; of a cell under a head whose cells stand as near as words
_MAX_HEAD_CHARS = 60  # arbitrary; of a head's cell


def with_headed(lines: Sequence[Line]) -> list[Line]:
    """Put tables in the place of their lines, which come in pdfium's order."""
    done: list[Line] = []
    place = 0
    while place < len(lines):
        table, size = _table(lines[place : place + _MAX_LINES]) if _heads(lines, place) else ([], 1)
        done += table or lines[place : place + 1]
        place += size
    return done


def _heads(lines: Sequence[Line], place: int) -> bool:
    """Say whether a line may begin a head: bold, with a gap in it or a bold line beside it."""
    line = lines[place]
    if not line.font.is_bold or line.rows or line.is_turned:
        return False
    following = lines[place + 1 : place + 4]
    return bool(_wide(line)) or _is_tight_head(line, following) or any(
        neighbour.font.is_bold and abs(neighbour.middle - line.middle) < 1.5 * line.height
        and (neighbour.left > line.right or neighbour.right < line.left)
        for neighbour in following
    )  # fmt: skip


def _wide(line: Line) -> list[Gap]:
    return [gap for gap in line.gaps if gap[1] - gap[0] >= _GAP * line.height > 0]


def _is_tight_head(line: Line, following: Sequence[Line]) -> bool:
    """Say whether a line may be a head whose cells stand as near as words."""
    below = following[0] if following else None
    return bool(
        below and line.gaps and below.gaps and not below.font.is_bold and not line.font.is_fixed
    )


def _table(lines: Sequence[Line]) -> tuple[list[Line], int]:
    """Make a table of the lines from its head on: it, and how many lines it takes."""
    head = _head(lines)
    is_tight = len(head) == 1 and not _wide(head[0])
    end = _end(lines, len(head), is_tight=is_tight)
    for size in range(end, max(len(head), end - _MAX_TRIES), -1):
        inside = lines[:size]
        stretches = _between_columns(head, inside)
        rows = rows_of([head, inside[len(head) :]], stretches) if stretches else []
        if not _is_table(rows) or (is_tight and not _is_full(rows)):
            continue
        left, right = min(line.left for line in inside), max(line.right for line in inside)
        bottom, top = min(line.bottom for line in inside), max(line.top for line in inside)
        font = inside[-1].font
        first = inside[0].first
        table = Line(
            "", left, right, bottom, top - bottom, rows=tuple(rows), font=font, first=first
        )
        return [table], size
    return [], 1


def _between_columns(head: Sequence[Line], lines: Sequence[Line]) -> list[Gap]:
    """Give the white between the columns of lines, each but the first with a cell in the head;
    none where two cells of the head have no white between them."""
    stretches = gutters(lines)
    heads = {column_of(part, stretches) for line in head for part in parts_of(line, stretches)}
    are_apart = all(
        any(gap[0] < stretch[1] and stretch[0] < gap[1] for stretch in stretches)
        for line in head
        for gap in _wide(line)
    )
    return [s for place, s in enumerate(stretches, 1) if place in heads] if are_apart else []


def _head(lines: Sequence[Line]) -> list[Line]:
    head = [lines[0]]
    for line in lines[1:]:
        is_near = min(part.bottom for part in head) - line.top <= _HEAD_WHITE * line.height
        is_same = abs(line.font.size - head[0].font.size) < 0.1 and not line.rows
        if not (line.font.is_bold and is_near and is_same and not line.is_turned):
            break
        head.append(line)
    return head


def _end(lines: Sequence[Line], begin: int, *, is_tight: bool) -> int:
    """Give the place after the last line that may be of the table."""
    bottom = min(line.bottom for line in lines[:begin])
    height, size = lines[0].height, max(lines[0].font.size, 0.1)
    widest = _MORE_WHITE * height / 2
    for place in range(begin, len(lines)):
        line = lines[place]
        is_below = line.middle < min(part.bottom for part in lines[:begin]) + _HEAD_WHITE * height
        if line.rows or line.is_turned or not is_below:
            return place
        if is_tight and len(line.text) > _MAX_TIGHT * len(lines[0].text):
            return place
        is_sized = _SIZES[0] <= line.font.size / size <= _SIZES[1]
        white = bottom - line.top
        limit = min(_WHITE * height, 2 * widest) if place > begin + 1 else _WHITE * height
        if not is_sized or white > limit:
            return place
        widest = max(widest, white)
        bottom = min(bottom, line.bottom)
    return len(lines)


def _is_table(rows: Sequence[Sequence[str]]) -> bool:
    """Say whether all columns have a head, and enough rows follow it."""
    if len(rows) < 2 or (len(rows) < 3 and len(rows[0]) < 3):
        return False
    head = rows[0]
    last = sum(map(bool, rows[-1])) >= 2  # else it is a line of text below the table
    return last and all(head[1:]) and max(map(len, head)) <= _MAX_HEAD_CHARS


def _is_full(rows: Sequence[Sequence[str]]) -> bool:
    return all(cell and len(cell) <= _MAX_TIGHT_CHARS for row in rows for cell in row)
