"""Read the tables of a document: header, rows, and the column that names each row's subject.

Tables are those of Markdown, which parsers write for every format.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ragkit.text.analyse import analyse
from ragkit_eval.testset.wording import searchable

MAX_CELL_CHARS: Final = 60  # longer cells are sentences; arbitrary
MAX_ROWS: Final = 200  # of one table; arbitrary

_RULE = frozenset(" |:-\t")  # characters of the line below a header
_PIPE = re.compile(r"(?<!\\)\|")
_NO_KEY = re.compile(r"[\d\s.,:：%‰€$£¥/()（）+\-–~至到]*")
# A row for all others answers questions about subjects without a row.
_CATCH_ALL = re.compile(
    r"\b(?:rest|others?|elsewhere|else|all|any|every|remaining|total|sum)\b|其他|其它|其余|其餘|全部|所有|合计|總計|总计",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Row:
    """A row `start:end` of the document's text, without marks of emphasis in its cells."""

    start: int
    end: int
    cells: tuple[str, ...]

    @property
    def key(self) -> str:
        """Return the cell that names the row's subject."""
        return self.cells[0]


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose first column names each row's subject."""

    header: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def is_closed(self) -> bool:
        """Tell whether no row answers for subjects that the table does not list."""
        return not any(_CATCH_ALL.search(row.key) for row in self.rows)

    def keys(self) -> Sequence[Row]:
        """Return the rows with a unique first cell."""
        counts = Counter(row.key.casefold() for row in self.rows)
        return [row for row in self.rows if counts[row.key.casefold()] == 1 and _is_key(row.key)]


def tables(text: str) -> Iterator[Table]:
    """Yield the tables with a header and at least two columns and two rows."""
    block: list[Row] = []
    end = 0
    for line in text.splitlines(keepends=True):
        start, end = end, end + len(line)
        bare = line.strip()
        if bare.startswith("|") and bare.endswith("|") and len(bare) > 2:
            row_start = start + line.index("|")
            block.append(Row(row_start, row_start + len(bare), _split_cells(bare)))
        else:
            yield from _make_table(text, block)
            block = []
    yield from _make_table(text, block)


def _split_cells(line: str) -> tuple[str, ...]:
    parts = _PIPE.split(line)[1:-1]
    return tuple(searchable(part.replace("\\|", "|")).strip() for part in parts)


def _make_table(text: str, block: Sequence[Row]) -> Iterator[Table]:
    rule = text[block[1].start : block[1].end] if len(block) > 3 else ""
    if "-" not in rule or not set(rule) <= _RULE:
        return
    header = block[0].cells
    rows = tuple(row for row in block[2:] if len(row.cells) == len(header))[:MAX_ROWS]
    if len(header) >= 2 and len(rows) >= 2 and header[0]:
        yield Table(header, rows)


def _is_key(key: str) -> bool:
    return bool(analyse(key)) and len(key) <= MAX_CELL_CHARS and not _NO_KEY.fullmatch(key)
