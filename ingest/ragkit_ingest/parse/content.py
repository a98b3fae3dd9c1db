"""The content of an HTML page or of a table's cell: blocks in order, nested tables included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.links import Link, Targets

_Kind = Literal["heading", "paragraph", "item", "code", "table"]
_MAX_COLUMNS = 1000  # HTML's own limit on one cell's span
_MAX_REPEATED_CHARS = 1_000_000  # arbitrary; spans can claim far more than a page's bytes hold


@dataclass(frozen=True, slots=True)
class Place:
    """Where a piece stands on a page, for formats that know.

    `regions` are the names of the parts of the page that it is in, `box` is the number of its
    block element; `linked` and `plain` count the characters in links and outside of them, and
    `languages` the links to pages in a language that they name.
    """

    regions: frozenset[str] = frozenset()
    linked: int = 0
    plain: int = 0
    links: int = 0
    languages: int = 0
    box: int = 0


_NOWHERE = Place()


@dataclass(slots=True)
class Piece:
    """One block, before it is written."""

    kind: _Kind
    text: str = ""
    number: int = 0  # a heading's level, an item's depth
    marker: str = ""
    rows: list[list[str]] = field(default_factory=list)
    place: Place = _NOWHERE
    links: Sequence[Link] = ()
    has_head: bool = True  # whether a table's first row names its columns

    @property
    def size(self) -> int:
        """How many characters it has."""
        return len(self.text) + sum(len(cell) for row in self.rows for cell in row)


class Content:
    """Blocks in order; `place` is where those stand that are added from now on."""

    __slots__ = ("pieces", "place")

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.place = _NOWHERE

    def link(self, links: Sequence[Link]) -> None:
        """Note the links of the block that was added last."""
        if self.pieces and links:
            self.pieces[-1].links = links

    def heading(self, level: int, text: str) -> None:
        self.pieces.append(Piece("heading", text, level, place=self.place))

    def paragraph(self, text: str) -> None:
        self.pieces.append(Piece("paragraph", text, place=self.place))

    def item(self, text: str, depth: int, marker: str) -> None:
        self.pieces.append(Piece("item", text, depth, marker, place=self.place))

    def code(self, text: str) -> None:
        self.pieces.append(Piece("code", text, place=self.place))

    def cells(self, rows: list[list[str]], *, has_head: bool = True) -> None:
        """Add a table of which the text of each cell is known, the head first."""
        self.pieces.append(Piece("table", rows=rows, place=self.place, has_head=has_head))

    def table(
        self, table: Table, texts: list[list[str]] | None = None, *, has_head: bool = True
    ) -> None:
        """Add a table, its cells as text, which may be known already."""
        self.pieces.extend(table.caption.pieces)
        self.cells(table.texts() if texts is None else texts, has_head=has_head)

    def extend(self, table: Table) -> None:
        """Add what stands in a table's cells, one after the other."""
        self.pieces.extend(table.caption.pieces)
        for row in table.rows:
            for cell in row:
                self.pieces.extend(cell.content.pieces)

    def flat(self, targets: Targets | None = None) -> str:
        """Give everything as one line, for a table's cell; with targets, where its links lead."""
        parts: list[str] = []
        for piece in self.pieces:
            if piece.kind == "table":
                parts += (" ".join(cell for cell in row if cell) for row in piece.rows)
            else:
                lead = f"{piece.marker} " if piece.kind == "item" and piece.marker else ""
                text = targets.written(piece.text, piece.links) if targets else piece.text
                parts.append(lead + text)
        return " ".join(" ".join(parts).split())

    def write(self, builder: Builder) -> None:
        """Write the blocks to a builder, with the targets of their links."""
        targets = Targets()
        for piece in self.pieces:
            if piece.kind == "heading":
                builder.heading(piece.number, piece.text)
            elif piece.kind == "item":
                text = targets.written(piece.text, piece.links)
                builder.item(text, depth=piece.number, marker=piece.marker)
            elif piece.kind == "code":
                builder.code(piece.text)
            elif piece.kind == "table":
                builder.table(piece.rows, has_head=piece.has_head)
            else:
                builder.paragraph(targets.written(piece.text, piece.links))


@dataclass(slots=True)
class Cell:
    columns: int
    rows: int
    is_header: bool
    content: Content
    is_bold: bool = False


class Table:
    """A table that is being read."""

    def __init__(self, *, presentation: bool) -> None:
        self.presentation = presentation
        self.rows: list[list[Cell]] = []
        self.caption = Content()
        self.is_open = False  # whether a cell is

    def cell(self, columns: int, rows: int, *, is_header: bool) -> Content:
        """Open a cell and return its content, to be filled."""
        if not self.rows:
            self.rows.append([])
        content = Content()
        self.rows[-1].append(Cell(max(columns, 1), max(rows, 1), is_header, content))
        self.is_open = True
        return content

    def mark_bold(self, *, is_first: bool) -> None:
        """Note that bold type begins; at the beginning of an open cell, the cell is bold."""
        cell = self.rows[-1][-1] if self.is_open and self.rows and self.rows[-1] else None
        if cell is not None and is_first and not cell.content.pieces:
            cell.is_bold = True

    def open_caption(self) -> Content:
        """Open the caption, which stands before the table, and return its content."""
        self.is_open = True
        return self.caption

    def place(self, around: Place) -> Place:
        """Tell where the table stands, with the links and characters of all its cells."""
        places = [piece.place for row in self.rows for cell in row for piece in cell.content.pieces]
        linked, plain, links = (
            sum(values)
            for values in zip(
                *((p.linked, p.plain, p.links) for p in [around, *places]), strict=True
            )
        )
        return replace(around, linked=linked, plain=plain, links=links)

    def texts(self) -> list[list[str]]:
        """Give the cells as text; one that spans columns or rows stands in each of them.

        So each row can be read by itself; a cell as wide as the table stands there once, one that
        is alone in its row and reaches down stands in the rows below too.
        """
        grid: list[list[str]] = []
        targets = Targets()
        below: dict[int, tuple[int, str]] = {}  # column: rows still covered, and by what
        spare = _MAX_REPEATED_CHARS
        for row in self.rows:
            line: list[str] = []
            for cell in row:
                _covered(line, below)
                text = cell.content.flat(targets)
                spare -= (len(text) + 1) * (cell.columns * cell.rows - 1)
                is_wide = len(row) == 1 and not line and (cell.columns > 1 or cell.rows == 1)
                repeated = text if spare > 0 and not is_wide else ""
                columns = max(min(cell.columns, _MAX_COLUMNS - len(line)), 1)
                if cell.rows > 1:
                    covered = range(len(line), len(line) + columns)
                    below |= dict.fromkeys(covered, (cell.rows - 1, repeated))
                line += [text, *[repeated] * (columns - 1)]
            _covered(line, below)
            grid.append(line)
        return grid


def is_layout(table: Table) -> bool:
    """Say whether a table only lays out a page: one column, headings in it, or tables without
    a header around them."""
    kinds = {piece.kind for row in table.rows for cell in row for piece in cell.content.pieces}
    has_header = any(cell.is_header for row in table.rows for cell in row)
    return (
        table.presentation
        or (not has_header and bool(kinds & {"heading", "table"}))
        or (not has_header and all(len(row) <= 1 for row in table.rows))
    )


def _covered(line: list[str], below: dict[int, tuple[int, str]]) -> None:
    """Fill the places that cells of rows above reach down to."""
    while len(line) in below:
        remaining, text = below.pop(len(line))
        if remaining > 1:
            below[len(line)] = (remaining - 1, text)
        line.append(text)
