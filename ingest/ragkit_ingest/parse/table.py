"""Write rows of cells as a Markdown pipe table."""

from __future__ import annotations

from collections.abc import Sequence


def markdown_table(rows: Sequence[Sequence[str]], *, has_head: bool = True) -> str:
    r"""Write a table whose first row is the header; empty rows and columns at the end go.

    Without a head, the header is empty.

    A cell is one line; a pipe in it is escaped. Returns "" when no cell has text.

    >>> markdown_table([["a", "b"], ["1|2", ""]])
    '| a | b |\n| - | - |\n| 1\\|2 |  |'
    """
    cells = [[_cell(cell) for cell in row] for row in rows]
    width = max((_width(row) for row in cells), default=0)
    lines = [_line(row, width) for row in cells if any(row)]
    if not lines:
        return ""
    if not has_head:
        lines.insert(0, _line([], width))
    lines.insert(1, _line(["-"] * width, width))
    return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _width(row: Sequence[str]) -> int:
    return max((column for column, cell in enumerate(row, 1) if cell), default=0)


def _line(row: Sequence[str], width: int) -> str:
    padded = [*row[:width], *[""] * (width - len(row))]
    return f"| {' | '.join(padded)} |"
