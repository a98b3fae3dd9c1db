"""Find, count and remove lines that repeat across the files of a folder: notices, navigation.

A file gives its lines' marks, a folder counts them, and a file loses the lines that are common.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final

from ragkit.types import Block, ParsedText
from ragkit_ingest.clean.edits import Edit, edited

BOILERPLATE: Final = "boilerplate lines"  # what the notes call them

# All four are arbitrary. A shorter line ("Summary", "None.") costs little and is often an answer.
# A longer one is a paragraph: only at a file's beginning or end is it a notice rather than a clause
# that many contracts share. CJK characters say about twice as much as letters, and count double.
_SHORTEST = 12
_LONGEST_ANYWHERE = 120
_LONGEST = 2000
_EDGE_LINES = 5
_MOST_MARKS = 2000  # of one file; more are not looked at, which bounds what a folder's count takes

# A line that three files share may be chance in a folder of hundreds; three in ten of them is not.
# Where authors differ, each one's footer stays under it: rather that than lose what files say.
_FEWEST_FILES = 3
_SHARE = 0.3
_LEAST_LEFT = 0.5  # of a file's letters: what would lose more is a form, or another file's copy

_LINE = re.compile(r"[^\n]++")
_LINE_ENDS = re.compile(r"\n*")
_WORDY = re.compile(r"[^\W\d_]")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
_COUNTERS = 1 << 18  # at about 100 bytes each, 30 MB


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    mark: int
    letters: int


def line_marks(parsed: ParsedText) -> set[int]:
    """Return 64-bit hashes of the lines of a file that could be boilerplate, at most 2,000.

    Not headings, tables or code; not what leads up to something else with a colon.
    """
    return {line.mark for line, _ in zip(_lines(parsed), range(_MOST_MARKS), strict=False)}


class LineCounts:
    """In how many files of a folder each line stands.

    Holds at most 262,144 counters, about 30 MB. Beyond, all are lowered and those at nothing let go
    (Misra and Gries, 1982, doi:10.1016/0167-6423(82)90012-0): counts are then too low, by no more
    than one in 65 of the files, never too high.
    """

    def __init__(self, counters: int = _COUNTERS) -> None:
        self.files = 0
        self._most = counters
        self._counts: dict[int, int] = {}

    def add(self, marks: Iterable[int]) -> None:
        """Count the marks of one more file."""
        self.files += 1
        for mark in marks:
            self._counts[mark] = self._counts.get(mark, 0) + 1
        if len(self._counts) > self._most:
            self._lower()

    def common(self) -> frozenset[int]:
        """Return the marks of lines that stand in three files at least, and in 30% of them."""
        least = max(_FEWEST_FILES, _SHARE * self.files)
        return frozenset(mark for mark, count in self._counts.items() if count >= least)

    def _lower(self) -> None:
        """Lower all by what leaves at most half, so that it is seldom done."""
        by = sorted(self._counts.values(), reverse=True)[self._most // 2]
        self._counts = {mark: count - by for mark, count in self._counts.items() if count > by}


def without_boilerplate(parsed: ParsedText, lines: Collection[int]) -> ParsedText:
    """Remove the lines of these marks, and count them in `notes`.

    A file that would lose more than half of its letters stays whole.
    """
    gone = [line for line in _lines(parsed) if line.mark in lines]
    if not gone:
        return parsed
    lost = sum(line.letters for line in gone)
    if lost > (1 - _LEAST_LEFT) * _letters(parsed.text):
        return parsed
    result = edited(parsed, list(_removed(parsed, gone)))
    return replace(result, notes={**parsed.notes, BOILERPLATE: len(gone)})


def _removed(parsed: ParsedText, gone: Collection[_Line]) -> Iterator[Edit]:
    """Yield the edits: a line goes with a line end, a whole block with the gap after it."""
    starts = {line.start for line in gone}
    for block in parsed.blocks:
        lines = _line_spans(parsed.text, block)
        kept_starts = [start for start, _ in lines if start not in starts]
        if not kept_starts:
            gap = _LINE_ENDS.match(parsed.text, block.end)
            yield Edit(block.start, gap.end() if gap else block.end)
            continue
        for start, end in lines:
            if start in starts:
                after_kept = kept_starts[0] < start
                yield Edit(start - 1, end) if after_kept else Edit(start, end + 1)


def _lines(parsed: ParsedText) -> Iterator[_Line]:
    """Yield the lines that could be boilerplate, in order."""
    spans = [
        span
        for block in parsed.blocks
        if block.kind in {"paragraph", "list"}
        for span in _line_spans(parsed.text, block)
    ]
    last = len(spans) - _EDGE_LINES
    for number, (start, end) in enumerate(spans):
        if end - start > _LONGEST:
            continue
        line = parsed.text[start:end]
        size = len(line) + len(_WIDE.findall(line))
        longest = _LONGEST_ANYWHERE if _EDGE_LINES <= number < last else _LONGEST
        if not _SHORTEST <= size <= longest or line.rstrip().endswith((":", "：")):
            continue
        letters = _letters(line)
        if letters >= len(line) / 2:  # else it is a rule, a row of figures or the like
            yield _Line(start, end, _mark(line), letters)


def _line_spans(text: str, block: Block) -> list[tuple[int, int]]:
    """Return where the lines of a block that are not blank start and end."""
    lines = _LINE.finditer(text, block.start, block.end)
    return [line.span() for line in lines if not line.group().isspace()]


def _letters(text: str) -> int:
    return len(_WORDY.findall(text))


def _mark(line: str) -> int:
    """Hash a line, however it is spaced and indented."""
    digest = blake2b(" ".join(line.split()).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
