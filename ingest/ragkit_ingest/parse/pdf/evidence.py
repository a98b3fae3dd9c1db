"""Evidence for an order of a page's lines: sentences that it breaks, and the file's own order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from ragkit.text.analyse import CJK_CHARACTER
from ragkit_ingest.parse.pdf.lines import Line

_MIN_CHARS = 16  # of a line of running text, Chinese characters counting two; arbitrary
_SAME_SIZE = 0.05  # of a line's height
_ACROSS = 0.01  # of a page's lines: a footer's two parts are no columns
_SURELY = 2  # sentences: so many fewer are broken in an order that is taken for that
_FEW_STEPS = 2  # back in the file: to a title or a footnote that was written first or last
_END = re.compile(r"[.!?:;。！？：；…][\"'”’»)）」』]*\s*$")


def best_order(lines: Sequence[Line], *orders: list[Line]) -> list[Line]:
    """Choose among orders of a page's lines; `lines` are in the file's own order.

    Of the orders by places, the one that breaks fewest sentences is taken; of equals, one that
    goes back in the file twice at most, since more means that the file was written row by row; of
    these, the first. The file's own order takes its place where it breaks at least two sentences
    fewer, and hardly a line of the file runs over two columns.

    A sentence is broken where lines of text that do not stand below each other come together, and
    the first ends none while the next begins one, or the other way round.
    """
    broken, _, best = min(
        ((broken_sentences(order), _steps_back(order) > _FEW_STEPS, order) for order in orders),
        key=lambda choice: choice[:2],
    )
    upright = [line for line in lines if not line.is_turned]
    across = sum(not line.is_turned for line in best) - len(upright)
    is_whole = across <= max(_ACROSS * len(upright), 1)
    if is_whole and broken >= _SURELY and broken_sentences(upright) <= broken - _SURELY:
        return [*upright, *(line for line in best if line.is_turned)]
    return best


def broken_sentences(lines: Sequence[Line]) -> int:
    """Count the places where an order of lines breaks a sentence."""
    return sum(_is_broken(last, line) for last, line in pairwise(lines))


def _is_broken(last: Line, line: Line) -> bool:
    if last.rows or line.rows or last.is_turned or line.is_turned or _is_text_below(last, line):
        return False
    start = line.text.lstrip()[:1]
    if weight(line) < _MIN_CHARS:
        return False
    if start.islower():
        return bool(_END.search(last.text))
    is_same = abs(last.height - line.height) <= _SAME_SIZE * line.height
    is_text = weight(last) >= _MIN_CHARS and is_same
    return is_text and start.isupper() and not _END.search(last.text)


def _is_text_below(last: Line, line: Line) -> bool:
    drop = last.bottom - line.bottom
    overlap = min(last.right, line.right) - max(last.left, line.left)
    return 0 < drop <= 2 * max(last.height, line.height) and overlap > 0


def _steps_back(lines: Sequence[Line]) -> int:
    places = [line.first for line in lines if line.first >= 0]
    return sum(following < place for place, following in pairwise(places))


def weight(line: Line) -> int:
    """Give a line's length in characters, Chinese ones counting two."""
    return len(line.text) + len(CJK_CHARACTER.findall(line.text))
