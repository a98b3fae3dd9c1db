"""The tables of a document: a header, rows, and which column names what a row is about.

It reads the Markdown that parsers write for tables of every format; knows nothing of questions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ragkit.text.analyse import analyse
from ragkit_eval.testset.wording import searchable

MOST_CELL_CHARS: Final = 60  # longer ones are sentences; arbitrary
MOST_ROWS: Final = 200  # of one document that are asked about; arbitrary

_RULE = frozenset(" |:-\t")  # of which the line below a header is made
_PIPE = re.compile(r"(?<!\\)\|")
_NO_KEY = re.compile(r"[\d\s.,:：%‰€$£¥/()（）+\-–~至到]*")
# A row that stands for all others answers for what is not in the table.
_REST = re.compile(
    r"\b(?:rest|others?|elsewhere|else|all|any|every|remaining|total|sum)\b|其他|其它|其余|其餘|全部|所有|合计|總計|总计",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Row:
    """A row `start:end` of the document's text, without the marks of emphasis in its cells."""

    start: int
    end: int
    cells: tuple[str, ...]

    @property
    def key(self) -> str:
        """Return the cell that names what the row is about."""
        return self.cells[0]


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose first column names what each row is about."""

    header: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def is_closed(self) -> bool:
        """Tell whether a thing that has no row of its own is answered by none of the others."""
        return not any(_REST.search(row.key) for row in self.rows)

    def keys(self) -> Sequence[Row]:
        """Return the rows that their first cell tells from all others."""
        counts = Counter(row.key.casefold() for row in self.rows)
        return [row for row in self.rows if counts[row.key.casefold()] == 1 and _names(row.key)]


def tables(text: str) -> Iterator[Table]:
    """Yield the tables that have a header, two columns and two rows at least."""
    block: list[Row] = []
    end = 0
    for line in text.splitlines(keepends=True):
        start, end = end, end + len(line)
        bare = line.strip()
        if bare.startswith("|") and bare.endswith("|") and len(bare) > 2:
            left = start + line.index("|")
            block.append(Row(left, left + len(bare), _cells(bare)))
        else:
            yield from _table(text, block)
            block = []
    yield from _table(text, block)


def _cells(line: str) -> tuple[str, ...]:
    parts = _PIPE.split(line)[1:-1]
    return tuple(searchable(part.replace("\\|", "|")).strip() for part in parts)


def _table(text: str, block: Sequence[Row]) -> Iterator[Table]:
    rule = text[block[1].start : block[1].end] if len(block) > 3 else ""
    if "-" not in rule or not set(rule) <= _RULE:
        return
    header = block[0].cells
    rows = tuple(row for row in block[2:] if len(row.cells) == len(header))[:MOST_ROWS]
    if len(header) >= 2 and len(rows) >= 2 and header[0]:
        yield Table(header, rows)


def _names(key: str) -> bool:
    return bool(analyse(key)) and len(key) <= MOST_CELL_CHARS and not _NO_KEY.fullmatch(key)
