"""Make questions for the cells of a document's tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragkit.prompts.templates import PromptLanguage
from ragkit.question.answer_kinds import INTERROGATIVE
from ragkit.question.reading import has_cjk
from ragkit.text.analyse import analyse
from ragkit.types import Span
from ragkit_eval.sets import Question
from ragkit_eval.testset import label
from ragkit_eval.testset.cell_wording import askable, cell_question, is_people, whose_question
from ragkit_eval.testset.outline import headings_at, title_of, topic_at
from ragkit_eval.testset.places import Place
from ragkit_eval.testset.rivals import Words, has_rival
from ragkit_eval.testset.sources import Source, drawn, language_of
from ragkit_eval.testset.tables import Row, Table, tables
from ragkit_eval.testset.wording import is_in, mid_sentence, with_topic

if TYPE_CHECKING:
    from ragkit_eval.testset.absent import Collected


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell with its table's language and topic; `people` says that the table lists persons."""

    source: Source
    table: Table
    row: Row
    column: int
    language: PromptLanguage
    topic: str
    people: bool

    @property
    def header(self) -> str:
        """Return the header of the cell's column."""
        return self.table.header[self.column]

    @property
    def value(self) -> str:
        """Return the text of the cell."""
        return self.row.cells[self.column]

    def word_question(self, *, key: str = "", header: str = "") -> str:
        """Word the question for the cell, or for another row or column; "" if that fails."""
        key = key or mid_sentence(self.row.key, self.source.text)
        header = header or self.header
        question = cell_question(
            key, header, self.value, language=self.language, people=self.people
        )
        if not question or self.people:
            return question
        return with_topic(question, self.topic, self.language)


def cells(source: Source) -> Iterator[Cell]:
    """Yield the cells of a document that can be asked for, table by table."""
    for table in tables(source.text):
        rows = table.keys()
        first = table.rows[0].start
        text = source.text[first : table.rows[-1].end]
        language = language_of(" ".join((*table.header, text)), source.document)
        language = language or _detect_script(source, text)
        if language is None:
            continue
        topic = mid_sentence(_choose_topic(source, table, first), source.text)
        people = is_people(table.header[0], [row.key for row in table.rows])
        for row in rows:
            for column in range(1, len(table.header)):
                cell = Cell(source, table, row, column, language, topic, people)
                if askable(cell.value) and is_in(language, cell.header, row.key, topic):
                    yield cell


def _detect_script(source: Source, text: str) -> PromptLanguage | None:
    """Return the language of a table in a document of unknown language, by its script."""
    if source.document.language:
        return None
    if has_cjk(text):
        return "zh"
    return "en" if all(letter.isascii() for letter in text if letter.isalpha()) else None


def _choose_topic(source: Source, table: Table, start: int) -> str:
    """Return the heading above a table, or the title if that repeats the first column's header."""
    title = title_of(source)
    heading = topic_at(source, start)
    shared = set(analyse(table.header[0])) & set(analyse(title))
    return title if title and (shared or INTERROGATIVE.match(heading)) else heading


def table_questions(collected: Collected, source: Source, seed: int) -> Iterator[Question | str]:
    """Yield questions for cells in a drawn order; a cell that gives none yields the reason."""

    def order(cell: Cell) -> str:
        return drawn(seed, "cell", cell.row.key, cell.header, cell.value)

    for number, cell in enumerate(sorted(cells(source), key=order)):
        # Every fourth question about a person asks for the person.
        reverse = cell.people and number % 4 == 3 and _is_only(cell)
        yield _make_question(collected, cell, reverse=reverse)


def _is_only(cell: Cell) -> bool:
    return [row.cells[cell.column] for row in cell.table.rows].count(cell.value) == 1


def _make_question(collected: Collected, cell: Cell, *, reverse: bool) -> Question | str:
    text = whose_question(cell.header, cell.value, language=cell.language) if reverse else ""
    answer = cell.row.key if text else cell.value
    text = text or cell.word_question()
    if not text:
        return "a table's column that cannot be asked for well"
    if set(analyse(answer)) <= set(analyse(text)):
        return "the question gives the answer away"
    row = Place(
        cell.source, cell.row.start, cell.row.end, cell.language, headings_at(cell.source, 0)
    )
    row_terms = (
        f"{cell.row.key} {cell.header}" if answer == cell.value else f"{cell.header} {answer}"
    )
    words = Words(collected.store, collected.name, analyse(row_terms))
    if has_rival(words, row, row_terms):
        return "another place says nearly the same"
    return label.answerable(
        cell.source.document.uri,
        text,
        answer=answer,
        span=Span(cell.row.start, cell.row.end),
        quote=cell.source.text[cell.row.start : cell.row.end],
        language=cell.language,
        kind="table",
    )
