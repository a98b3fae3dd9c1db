"""Questions that the documents do not answer, without a language model.

A designation such as RL-400 is changed into one that stands nowhere in the collection, and the
question asks about that. Only this can be checked by words alone; names and other things cannot.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ragkit.answer.quotations import fold
from ragkit.text.analyse import CJK, analyse
from ragkit_eval.sets import Question
from ragkit_eval.testset import made
from ragkit_eval.testset.blanks import Blank, blanks
from ragkit_eval.testset.cloze import asked, gapped, heading_of
from ragkit_eval.testset.places import Place, places
from ragkit_eval.testset.rivals import MOST_LOOKED_AT, Words
from ragkit_eval.testset.sources import Source, drawn

if TYPE_CHECKING:
    from ragkit.contracts import Store

TRIES: Final = 20  # arbitrary
_DESIGNATION = re.compile(
    rf"(?<![^\W{CJK}])(?<!-)[A-Z][A-Za-z]{{0,5}}-?\d{{1,6}}(?![^\W{CJK}])(?!-\w)"
)
_CLAUSE = re.compile(r"[,;:，；：、。]|\b(?:and|or|but|which|that|while)\b|[和或及与與]")


def unanswerable_questions(
    store: Store, collection: str, source: Source, seed: int
) -> Iterator[Question | str]:
    """Yield questions about designations that are in no document, or reasons why there is none."""
    for place in sorted(places(source), key=lambda place: drawn(seed, "not", place.text)):
        words = Words(store, collection, analyse(place.text))
        pair = _designation_and_blank(place, words)
        if pair is None:
            yield "no designation beside a fact"
            continue
        designation, blank = pair
        other = _another(store, collection, designation, drawn(seed, place.text))
        yield _question(place, designation, blank, other) if other else "every change is there too"


def _designation_and_blank(place: Place, words: Words) -> tuple[str, Blank] | None:
    """Find a designation and what is said of it in the same clause: only that changes with it."""
    text = place.text
    named = list(_DESIGNATION.finditer(text))
    if len({found.group() for found in named}) != 1:
        return None  # what is said of another would still be there
    for found in named:
        for blank in blanks(text, words.weight):
            between = text[found.end() : blank.start] or text[blank.end : found.start()]
            apart = blank.end <= found.start() or found.end() <= blank.start
            if apart and blank.kind != "term" and not _CLAUSE.search(between):
                return found.group(), blank
    return None


def _another(store: Store, collection: str, designation: str, seed: str) -> str:
    """Change the digits of a designation until no document has it; "" when that fails."""
    chance = random.Random(seed)  # noqa: S311  repeatable, no secret
    for _ in range(TRIES):
        other = re.sub(r"\d", lambda match: _digit(match.group(), chance), designation)
        if other != designation and _is_nowhere(store, collection, other):
            return other
    return ""


def _digit(digit: str, chance: random.Random) -> str:
    """Leave noughts: RL-400 becomes RL-700, as a maker would name it."""
    return digit if digit == "0" else chance.choice("123456789")


def _is_nowhere(store: Store, collection: str, designation: str) -> bool:
    terms = analyse(designation)
    found = Words(store, collection, terms).in_passages(frozenset(terms), 1.0)
    literal = _bare(designation)
    # More passages than are looked at: one of the others may have it.
    return len(found) < MOST_LOOKED_AT and all(literal not in _bare(hit.text) for hit in found)


def _bare(text: str) -> str:
    return re.sub(r"[\s-]", "", fold(text).text)


def _question(place: Place, designation: str, blank: Blank, other: str) -> Question:
    sentence = gapped(place.text, blank).replace(designation, other)
    under = heading_of(place)
    # A heading of its own would take the question back to what is there.
    told = "" if _DESIGNATION.search(under) else under
    question = asked(sentence, place.language, under=told)
    uri = place.source.document.uri
    return made.unanswerable(uri, question, language=place.language, method="cloze")
