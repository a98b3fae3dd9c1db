"""Make unanswerable questions about a person, type, city or year that is in no document.

They are the hardest to refuse, because the documents have all but one of their words. The check
covers that word; it cannot show that no other text answers.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from ragkit.question.reading import has_cjk
from ragkit.text.analyse import CJK, analyse
from ragkit_eval.sets import Question
from ragkit_eval.testset import label
from ragkit_eval.testset.absent import Collected
from ragkit_eval.testset.amounts import amounts
from ragkit_eval.testset.blanks import Blank, blanks
from ragkit_eval.testset.cell_wording import year_of
from ragkit_eval.testset.cloze import gapped, heading_of, word_cloze
from ragkit_eval.testset.places import Place, places
from ragkit_eval.testset.rivals import Words
from ragkit_eval.testset.sources import Source, drawn
from ragkit_eval.testset.table_questions import Cell, cells
from ragkit_eval.testset.wording import everyday

TRIES: Final = 20  # arbitrary
DESIGNATION = re.compile(
    rf"(?<![^\W{CJK}])(?<!-)[A-Z][A-Za-z]{{0,5}}-?\d{{1,6}}(?![^\W{CJK}])(?!-\w)"
)
_CLAUSE = re.compile(r"[,;:，；：、。]|\b(?:and|or|but|which|that|while)\b|[和或及与與]")
_CITIES: Final = (
    "Lisbon Oslo Prague Vienna Warsaw Athens Helsinki Madrid Zurich Toronto Chicago Sydney Cairo"
    " Dublin London Paris Berlin Munich Hamburg Rome Milan Tokyo Seoul"
    " 北京 上海 广州 深圳 成都 西安 武汉 南京 杭州 重庆 天津 沈阳 长沙 昆明 厦门 青岛 哈尔滨 兰州"
).split()


def other_thing_questions(
    collected: Collected, source: Source, seed: int
) -> Iterator[Question | str]:
    """Yield questions about names that no document has, or reasons for none."""

    def order(cell: Cell) -> str:
        return drawn(seed, "other", cell.row.key, cell.header, cell.value)

    ordered = sorted(cells(source), key=order)
    sentences = sorted(places(source), key=lambda place: drawn(seed, "not", place.text))
    yield from chain(
        (_ask_cell(collected, cell, ordered, seed) for cell in ordered),
        (_ask_sentence(collected, place, seed) for place in sentences),
    )


def _ask_cell(collected: Collected, cell: Cell, cells: Sequence[Cell], seed: int) -> Question | str:
    """Ask for a cell of a row, or a column, that the table does not have."""
    chance = random.Random(drawn(seed, cell.word_question()))  # noqa: S311  repeatable, no secret
    year = year_of(cell.header)
    if cell.people:
        names = [person.row.key for person in cells if person.people]
        text = _word_cell(
            cell, key=_first_absent(collected, _mix_names(cell.row.key, names, chance))
        )
    elif year:
        absent_year = _first_absent(collected, (str(int(year) - n) for n in range(3, TRIES)))
        text = _word_cell(cell, header=absent_year and cell.header.replace(year, absent_year))
    elif not cell.table.is_closed:
        return "unanswerable: a table with a row for all others"
    elif cell.row.key in _CITIES:
        text = _word_cell(cell, key=_first_absent(collected, _draw_cities(cell.row.key, chance)))
    elif len(DESIGNATION.findall(cell.row.key)) == 1:
        text = _word_cell(cell, key=_rename_designation(collected, cell.row.key, chance))
    else:
        return "unanswerable: a row without a person, type, city or year"
    if not text:
        return "unanswerable: every other name is there, too"
    return label.unanswerable(
        cell.source.document.uri, text, language=cell.language, kind="other-thing"
    )


def _word_cell(cell: Cell, *, key: str = "", header: str = "") -> str:
    return cell.word_question(key=key, header=header) if key or header else ""


def _first_absent(collected: Collected, candidates: Iterator[str]) -> str:
    """Return the first of some candidates that no passage has; "" if all of them occur."""
    return next(
        (name for _, name in zip(range(TRIES), candidates, strict=False) if collected.lacks(name)),
        "",
    )


def _mix_names(name: str, names: Sequence[str], chance: random.Random) -> Iterator[str]:
    """Yield a person's first name with other persons' last names; in Chinese the reverse."""
    drawn_order = chance.sample(names, len(names))
    for full_name in dict.fromkeys(drawn_order):
        if has_cjk(name):
            yield name[:1] + full_name[1:]
        else:
            yield f"{name.split(maxsplit=1)[0]} {full_name.split()[-1]}"


def _draw_cities(city: str, chance: random.Random) -> Iterator[str]:
    yield from chance.sample(
        [candidate for candidate in _CITIES if has_cjk(candidate) == has_cjk(city)], 10
    )


def _ask_sentence(collected: Collected, place: Place, seed: int) -> Question | str:
    """Replace the designation in a question that a sentence answers."""
    words = Words(collected.store, collected.name, analyse(place.text))
    pair = _find_designation(place, words)
    if pair is None:
        return "unanswerable: a sentence without a type such as RL-400 beside a fact"
    designation, blank = pair
    chance = random.Random(drawn(seed, place.text))  # noqa: S311  repeatable, no secret
    absent_name = _rename_designation(collected, designation, chance)
    if not absent_name:
        return "unanswerable: every other name is there, too"
    text = _word_amount(place, words, designation, absent_name) or _word_gap(
        place, designation, blank, absent_name
    )
    return label.unanswerable(
        place.source.document.uri, text, language=place.language, kind="other-thing"
    )


def _word_amount(place: Place, words: Words, designation: str, absent_name: str) -> str:
    for amount in amounts(place.text, words.weight, place.source.text):
        if designation in amount.question:
            return everyday(amount.question.replace(designation, absent_name), place.language)
    return ""


def _word_gap(place: Place, designation: str, blank: Blank, absent_name: str) -> str:
    heading = heading_of(place)
    # A heading with a designation would name the documented type.
    safe_heading = "" if DESIGNATION.search(heading) else heading
    sentence = gapped(place.text, blank).replace(designation, absent_name)
    return word_cloze(sentence, place.language, under=safe_heading)


def _find_designation(place: Place, words: Words) -> tuple[str, Blank] | None:
    """Find a designation and a blank in the same clause, where only both belong together."""
    text = place.text
    designations = list(DESIGNATION.finditer(text))
    if len({match.group() for match in designations}) != 1:
        return None  # the fact of another designation would remain
    for match in designations:
        for blank in blanks(text, words.weight):
            between = text[match.end() : blank.start] or text[blank.end : match.start()]
            is_separate = blank.end <= match.start() or match.end() <= blank.start
            if is_separate and blank.kind != "term" and not _CLAUSE.search(between):
                return match.group(), blank
    return None


def _rename_designation(collected: Collected, name: str, chance: random.Random) -> str:
    """Change the digits of a designation until no document has it; "" if all occur."""
    match = DESIGNATION.search(name)
    if match is None:
        return ""
    for _ in range(TRIES):
        candidate = re.sub(r"\d", lambda digit: _draw_digit(digit.group(), chance), match.group())
        if candidate != match.group() and collected.lacks(candidate):
            return name.replace(match.group(), candidate)
    return ""


def _draw_digit(digit: str, chance: random.Random) -> str:
    """Draw a digit but keep zeros: RL-400 becomes RL-700, as a manufacturer would name it."""
    return digit if digit == "0" else chance.choice("123456789")
