"""Questions about a thing of the same kind that is in no document: another person, type, year.

They are the hardest to refuse, because all but one word of them is there. That the word is nowhere
in the collection is checked; that nothing else answers, no words can show.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from ragkit.answer.question import has_cjk
from ragkit.text.analyse import CJK, analyse
from ragkit_eval.sets import Question
from ragkit_eval.testset import made
from ragkit_eval.testset.absent import Collected
from ragkit_eval.testset.amounts import amounts
from ragkit_eval.testset.blanks import Blank, blanks
from ragkit_eval.testset.cells import year_of
from ragkit_eval.testset.cloze import asked as cloze_asked
from ragkit_eval.testset.cloze import gapped, heading_of
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
    """Yield questions about things that no document has, or reasons why there is none."""

    def order(cell: Cell) -> str:
        return drawn(seed, "other", cell.row.key, cell.header, cell.value)

    ordered = sorted(cells(source), key=order)
    sentences = sorted(places(source), key=lambda place: drawn(seed, "not", place.text))
    yield from chain(
        (_of_cell(collected, cell, ordered, seed) for cell in ordered),
        (_of_sentence(collected, place, seed) for place in sentences),
    )


def _of_cell(collected: Collected, cell: Cell, cells: Sequence[Cell], seed: int) -> Question | str:
    """Ask for a cell in a row, or under a header, that is not there."""
    chance = random.Random(drawn(seed, cell.asked()))  # noqa: S311  repeatable, no secret
    year = year_of(cell.header)
    if cell.people:
        others = [other.row.key for other in cells if other.people]
        text = _asked(cell, key=_absent(collected, _mixed(cell.row.key, others, chance)))
    elif year:
        other = _absent(collected, (str(int(year) - n) for n in range(3, TRIES)))
        text = _asked(cell, header=other and cell.header.replace(year, other))
    elif not cell.table.is_closed:
        return "unanswerable: a table with a row for all others"
    elif cell.row.key in _CITIES:
        text = _asked(cell, key=_absent(collected, _of_script(cell.row.key, chance)))
    elif len(DESIGNATION.findall(cell.row.key)) == 1:
        text = _asked(cell, key=_renamed(collected, cell.row.key, chance))
    else:
        return "unanswerable: a row without a person, type, city or year"
    if not text:
        return "unanswerable: every other name is there, too"
    return made.unanswerable(
        cell.source.document.uri, text, language=cell.language, kind="other-thing"
    )


def _asked(cell: Cell, *, key: str = "", header: str = "") -> str:
    return cell.asked(key=key, header=header) if key or header else ""


def _absent(collected: Collected, candidates: Iterator[str]) -> str:
    """Return the first that stands nowhere in the collection; "" when none of the first does."""
    return next(
        (name for _, name in zip(range(TRIES), candidates, strict=False) if collected.lacks(name)),
        "",
    )


def _mixed(name: str, others: Sequence[str], chance: random.Random) -> Iterator[str]:
    """Yield a person's first name with the last names of others; in Chinese the other way round."""
    drawn_order = chance.sample(others, len(others))
    for other in dict.fromkeys(drawn_order):
        if has_cjk(name):
            yield name[:1] + other[1:]
        else:
            yield f"{name.split(maxsplit=1)[0]} {other.split()[-1]}"


def _of_script(city: str, chance: random.Random) -> Iterator[str]:
    yield from chance.sample([other for other in _CITIES if has_cjk(other) == has_cjk(city)], 10)


def _of_sentence(collected: Collected, place: Place, seed: int) -> Question | str:
    """Change the designation of a question that a sentence answers."""
    words = Words(collected.store, collected.name, analyse(place.text))
    pair = _designation_and_blank(place, words)
    if pair is None:
        return "unanswerable: a sentence without a type such as RL-400 beside a fact"
    designation, blank = pair
    chance = random.Random(drawn(seed, place.text))  # noqa: S311  repeatable, no secret
    other = _renamed(collected, designation, chance)
    if not other:
        return "unanswerable: every other name is there, too"
    text = _of_amount(place, words, designation, other) or _gapped(place, designation, blank, other)
    return made.unanswerable(
        place.source.document.uri, text, language=place.language, kind="other-thing"
    )


def _of_amount(place: Place, words: Words, designation: str, other: str) -> str:
    for asked in amounts(place.text, words.weight, place.source.text):
        if designation in asked.question:
            return everyday(asked.question.replace(designation, other), place.language)
    return ""


def _gapped(place: Place, designation: str, blank: Blank, other: str) -> str:
    under = heading_of(place)
    # A heading of its own would take the question back to what is there.
    told = "" if DESIGNATION.search(under) else under
    sentence = gapped(place.text, blank).replace(designation, other)
    return cloze_asked(sentence, place.language, under=told)


def _designation_and_blank(place: Place, words: Words) -> tuple[str, Blank] | None:
    """Find a designation and what is said of it in the same clause: only that changes with it."""
    text = place.text
    named = list(DESIGNATION.finditer(text))
    if len({match.group() for match in named}) != 1:
        return None  # what is said of another would still be there
    for match in named:
        for blank in blanks(text, words.weight):
            between = text[match.end() : blank.start] or text[blank.end : match.start()]
            apart = blank.end <= match.start() or match.end() <= blank.start
            if apart and blank.kind != "term" and not _CLAUSE.search(between):
                return match.group(), blank
    return None


def _renamed(collected: Collected, name: str, chance: random.Random) -> str:
    """Change the digits of a name's designation until no document has it; "" when that fails."""
    match = DESIGNATION.search(name)
    if match is None:
        return ""
    for _ in range(TRIES):
        other = re.sub(r"\d", lambda digit: _digit(digit.group(), chance), match.group())
        if other != match.group() and collected.lacks(other):
            return name.replace(match.group(), other)
    return ""


def _digit(digit: str, chance: random.Random) -> str:
    """Leave noughts: RL-400 becomes RL-700, as a maker would name it."""
    return digit if digit == "0" else chance.choice("123456789")
