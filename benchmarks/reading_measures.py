"""How much of a document a reading has: words, their order, table cells, headings.

Every measure compares two readings and is a pure function; none of them looks at a file. A measure
of which a document has nothing to measure (cells without a table, say) is None, and no mean counts
it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, fields

from benchmarks.reading_markdown import Reading, Table, Words


@dataclass(frozen=True, slots=True)
class Scores:
    """The measures of one document, each from 0 to 1, or None where there is nothing to measure.

    A recall is the share of what is expected that the reading has; a precision the share of what
    the reading has that is expected. `cells` and `headings` are recalls.
    """

    recall: float | None = None
    precision: float | None = None
    order: float | None = None
    cells: float | None = None
    cells_precision: float | None = None
    headings: float | None = None
    headings_precision: float | None = None


def scores(expected: Reading, reading: Reading) -> Scores:
    """Compare a reading with what is expected of it."""
    words = overlap(expected.words, reading.words)
    headings = overlap(expected.headings, reading.headings)
    expected_places, places = cell_places(expected.tables), cell_places(reading.tables)
    cells = cells_at_place(expected_places, places)
    return Scores(
        recall=_share(words, expected.words),
        precision=_share(words, reading.words),
        order=order(expected.words, reading.words),
        cells=_share(cells, expected_places),
        cells_precision=_share(cells, places),
        headings=_share(headings, expected.headings),
        headings_precision=_share(headings, reading.headings),
    )


def failure(expected: Reading) -> Scores:
    """Score a file that could not be read: 0 in each measure that the expected text allows."""
    return Scores(
        recall=0.0,
        precision=0.0,
        order=0.0,
        cells=0.0 if cell_places(expected.tables) else None,
        headings=0.0 if expected.headings else None,
    )


def overlap(expected: Sequence[Hashable], reading: Sequence[Hashable]) -> int:
    """Count what two multisets share: the smaller count of each element, summed.

    Words are compared so, and headings, each as the words of its line: a heading counts where a
    heading of the reading has the same words, on whatever level.
    """
    return (Counter(expected) & Counter(reading)).total()


def order(expected: Words, reading: Words) -> float | None:
    """Return how far the order of the words is kept: 1 where it is, near 0 where it is reversed.

    Of the words that occur exactly once in either text, the length of the longest series that
    stands in the same order in both, by their number: one less Ulam's distance of the two orders,
    as a share (Fredman 1975, https://doi.org/10.1016/0012-365X(75)90103-X). None where fewer than
    two words can be compared. Two columns of equal length that were read line by line, across,
    score about a half.

    >>> order(("a", "b", "c", "d"), ("c", "d", "a", "b"))
    0.5
    """
    counts = Counter(expected)
    place = {word: number for number, word in enumerate(reading)}
    unique = {word for word, count in Counter(reading).items() if count == 1}
    places = [place[word] for word in expected if counts[word] == 1 and word in unique]
    if len(places) < 2:
        return None
    return _longest_rise(places) / len(places)


def _longest_rise(numbers: Sequence[int]) -> int:
    """Return the length of the longest increasing subsequence of different numbers."""
    ends: list[int] = []  # the least last number of a rise of each length
    for number in numbers:
        at = bisect_left(ends, number)
        ends[at : at + 1] = [number]
    return len(ends)


@dataclass(frozen=True, slots=True)
class CellPlace:
    """A cell's words and its neighbours': directly beside and above it, and at the ends of both.

    A neighbour is empty where its cell has no words, and None beyond the edge.
    """

    words: Words
    preceding: Words | None
    row_head: Words | None
    above: Words | None
    column_head: Words | None

    def agreements(self, place: CellPlace) -> int:
        """Count the neighbours that this cell shares with one of the same words; 0 off its place.

        A cell is at its place where it is in its row, beside the same cell or in a row that begins
        with the same one, and in its column, below the same cell or the same head.
        """
        preceding, row_head = self.preceding == place.preceding, self.row_head == place.row_head
        above, column_head = self.above == place.above, self.column_head == place.column_head
        if not (preceding or row_head) or not (above or column_head):
            return 0
        return preceding + row_head + above + column_head


def cell_places(tables: Sequence[Table]) -> list[CellPlace]:
    """Return the cells with words of every table of at least two rows and two columns."""
    return [
        place
        for table in tables
        if len(table) > 1 and max(map(len, table)) > 1
        for place in _places(table)
    ]


def _places(table: Table) -> Iterator[CellPlace]:
    for number, row in enumerate(table):
        for column, words in enumerate(row):
            if words:
                yield CellPlace(
                    words,
                    preceding=row[column - 1] if column else None,
                    row_head=row[0] if column else None,
                    above=_cell(table[number - 1], column) if number else None,
                    column_head=_cell(table[0], column) if number else None,
                )


def _cell(row: tuple[Words, ...], column: int) -> Words:
    return row[column] if column < len(row) else ()


def cells_at_place(expected: Sequence[CellPlace], reading: Sequence[CellPlace]) -> int:
    """Count the cells that are at their place in the reading, each of its cells taken once.

    In the order of the expected text, a cell takes the unused one with the most agreements.
    """
    unused = defaultdict(list)
    for place in reading:
        unused[place.words].append(place)
    count = 0
    for place in expected:
        candidates = unused[place.words]
        best = max(candidates, key=place.agreements, default=None)
        if best is not None and place.agreements(best):
            candidates.remove(best)
            count += 1
    return count


def mean(documents: Sequence[Scores]) -> Scores:
    """Return the mean of each measure over the documents that have it."""
    return Scores(
        *(_mean([getattr(score, field.name) for score in documents]) for field in fields(Scores))
    )


def _mean(values: Sequence[float | None]) -> float | None:
    measured = [value for value in values if value is not None]
    return sum(measured) / len(measured) if measured else None


def _share(part: int, elements: Sequence[Hashable]) -> float | None:
    return part / len(elements) if elements else None
