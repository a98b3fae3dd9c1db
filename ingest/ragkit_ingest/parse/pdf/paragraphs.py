"""Join a page's lines to paragraphs by where they begin and end.

A line goes on in the next one unless that one's first word would still have had room in it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from statistics import median

from ragkit.text.analyse import CJK
from ragkit_ingest.parse.pdf.hyphens import Words
from ragkit_ingest.parse.pdf.lines import Line, is_right_to_left

_NO_SPACE = rf"[{CJK}，。、；：？！“”‘’（）《》【】…—]"
_CJK_END = re.compile(rf"{_NO_SPACE}$")
_CJK_START = re.compile(rf"^{_NO_SPACE}")
_HANGUL = re.compile(r"[\uac00-\ud7af]")
ITEM = re.compile(
    r"[•‣◦▪▫●○■□◆◇★·∙–—*-]\s|[\uf0a7\uf0b7\uf0d8]"
    r"|[（(]?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5}|[一二三四五六七八九十]{1,3})[.)）、](?!\d)"
    r"|第[一二三四五六七八九十百\d]+[章节節条條]"
)
# Four dots and a number, or more dots; three and four alone, and a Chinese ellipsis, are points of
# omission.
LEADER = re.compile(
    r"(?:[^\S\n]?[.․·‧]){4,}[^\S\n]*(?=[\divxlc]+(?:\s|$))|(?:[^\S\n]?[.․·‧]){6,}[^\S\n]*"
    r"|(?:[^\S\n]?…){3,}[^\S\n]*"
)
_HYPHENATED = re.compile(r"(?<=[^\W\d_])[-‐]$")
_BREAK = "\u00ad"  # behind a hyphen at a line's end in a cell; texts of pages have none
_LINE_STEP = 1.5  # of the page's usual distance between lines: more begins a paragraph
_SIZE_CHANGE = 1.15  # a line that much larger or smaller is another kind of text
_INDENT = 1.0  # in line heights
_SLACK = 0.5  # in line heights: lines end there and thereabouts
_NO_WORDS = Words()


def without_leaders(text: str) -> str:
    """Leave out the dots that lead from a title to its page.

    >>> without_leaders("1 Mounting ............ 5")
    '1 Mounting 5'
    """
    return LEADER.sub(" ", text)


def paragraphs(
    lines: Sequence[Line], headings: Collection[str] = (), words: Words = _NO_WORDS
) -> Iterator[str]:
    """Join lines to paragraphs; a line that is one of the `headings` stays by itself.

    Lines join with a space in alphabetic scripts and without in Chinese and Japanese, and words
    hyphenated at a line's end are made whole. Rows of a table stay lines of one paragraph.
    """
    step = _usual_step(lines)
    spaced = any(line.text.endswith(" ") for line in lines)
    block: list[Line] = []
    for line in lines:
        if block and (_parts(block, line, step) or _is_heading(block, line, headings)):
            yield from _joined(block, spaced, words)
            block = []
        block.append(line)
    yield from _joined(block, spaced, words)


def key(title: str) -> str:
    """Make a title comparable: its letters and digits alone.

    >>> key("5.1  Set-up") == key("5.1 set‐up")
    True
    """
    return "".join(char for char in title.casefold() if char.isalnum())


def join(text: str, following: str, words: Words = _NO_WORDS, *, spaced: bool = False) -> str:
    """Join two lines of one paragraph; `spaced`: lines show the space at their end."""
    if text.endswith(" "):
        return text + following
    if _HYPHENATED.search(text):
        return words.join(text, following)
    if _CJK_END.search(text) and _CJK_START.search(following):
        # Korean has spaces: where a page's lines show theirs, their absence means something.
        if not spaced and _HANGUL.match(text[-1]) and _HANGUL.match(following):
            return f"{text} {following}"
        return text + following
    return f"{text} {following}"


def join_in_cell(text: str, following: str) -> str:
    """Join two lines of a cell; what comes of a hyphen between them is left to `whole_words`."""
    if _HYPHENATED.search(text.rstrip()):
        return f"{text.rstrip()}{_BREAK}{following}"
    return join(text, following)


def is_broken_cell(cell: str) -> bool:
    """Say whether a line of a cell ends with a hyphen."""
    return _BREAK in cell


def whole_words(cell: str, words: Words) -> str:
    """Make the words of a cell whole that are hyphenated at its lines' ends."""
    text, *lines = cell.split(_BREAK)
    for line in lines:
        text = words.join(text, line)
    return text


def _parts(block: Sequence[Line], line: Line, step: float) -> bool:
    """Say whether a line stands apart from the lines before it, by distance or by size."""
    last = block[-1]
    if last.turn != line.turn:
        return True
    if last.is_broken:
        return False
    drop = last.bottom - line.bottom
    height = max(min(line.height, last.height), 0.1)
    if drop < -0.5 * height or (step and drop > _LINE_STEP * max(step, height)):
        return True
    return max(line.height, last.height) > _SIZE_CHANGE * height


def _is_heading(block: Sequence[Line], line: Line, headings: Collection[str]) -> bool:
    return bool(headings) and (
        key(line.text) in headings or key("".join(part.text for part in block)) in headings
    )


def _joined(block: Sequence[Line], spaced: bool, words: Words) -> Iterator[str]:
    """Cut lines that stand together into paragraphs, and write each."""
    if not block:
        return
    left, right = min(line.left for line in block), max(line.right for line in block)
    text = block[0].text
    for previous, line in pairwise(block):
        if previous.has_gap and line.has_gap:
            text = f"{text.rstrip()}\n{line.text}"
        elif _ends(previous, line, left, right):
            yield text.strip()
            text = line.text
        else:
            text = join(text, line.text, words, spaced=spaced)
    yield text.strip()


def _ends(previous: Line, line: Line, left: float, right: float) -> bool:
    """Say whether a paragraph ends with a line, seeing the next one and the block's edges."""
    if previous.is_broken:
        return False
    if LEADER.search(previous.text):
        return True
    if previous.has_gap != line.has_gap or ITEM.match(line.text):
        return True
    height = max(previous.height, 0.1)
    is_indented = line.left > left + _INDENT * height and previous.left <= left + _SLACK * height
    had_room = right - previous.right > _first_word(line) + _SLACK * height
    # From right to left a line's end is its left edge.
    if is_right_to_left(previous.text):
        return previous.left - left > _first_word(line) + _SLACK * height
    return is_indented or had_room


def _first_word(line: Line) -> float:
    """Estimate the width of what would have moved up: a word, or one or two characters."""
    text = line.text.strip()
    word = re.match(rf"{_NO_SPACE}{{1,2}}|[^\s{CJK}]+", text)
    length = word.end() if word else 1
    return (line.right - line.left) * length / max(len(text), 1)


def _usual_step(lines: Sequence[Line]) -> float:
    drops = [
        previous.bottom - line.bottom
        for previous, line in pairwise(lines)
        if 0 < previous.bottom - line.bottom < 4 * max(previous.height, 0.1)
    ]
    return median(drops) if drops else 0.0
