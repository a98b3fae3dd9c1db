"""Make questions by rules: choose the kinds, and how many of each a set has.

Kinds that use other words than the source come first; cloze fills up the number.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from ragkit_eval.sets import Question
from ragkit_eval.testset.absent_names import other_thing_questions
from ragkit_eval.testset.absent_properties import other_property_questions
from ragkit_eval.testset.absent_terms import unknown_term_questions
from ragkit_eval.testset.cloze import cloze_questions
from ragkit_eval.testset.definitions import definition_questions
from ragkit_eval.testset.headings import heading_questions
from ragkit_eval.testset.number_questions import number_questions
from ragkit_eval.testset.sources import Source, drawn
from ragkit_eval.testset.table_questions import table_questions

if TYPE_CHECKING:
    from ragkit_eval.testset.absent import Collected

Offer = Callable[["Collected", Source, int], Iterator[Question | str]]

CLOZE_SHARE: Final = 0.2  # of the answerable ones, if the other kinds give enough; arbitrary
EASY_SHARE: Final = 0.3  # of the unanswerable ones: unknown terms; arbitrary

_REWORDED: Final[tuple[Offer, ...]] = (
    table_questions,
    number_questions,
    definition_questions,
    heading_questions,
)
_NEARLY_RIGHT: Final[tuple[Offer, ...]] = (other_thing_questions, other_property_questions)


def answerable_steps(count: int) -> list[tuple[Offer, int]]:
    """Return the offers in turn, and the maximum number of questions of each step."""
    cloze = math.ceil(count * CLOZE_SHARE)
    return [(in_other_words, count - cloze), (cloze_questions, count), (in_other_words, count)]


def unanswerable_steps(count: int) -> list[tuple[Offer, int]]:
    """Return the same for unanswerable questions: nearly answerable ones first."""
    easy = math.floor(count * EASY_SHARE)
    return [(nearly_right, count - easy), (unknown_term_questions, count)]


def in_other_words(collected: Collected, source: Source, seed: int) -> Iterator[Question | str]:
    """Yield a document's questions from tables, numbers, definitions and headings, in turn."""
    return _take_turns(_REWORDED, collected, source, seed)


def nearly_right(collected: Collected, source: Source, seed: int) -> Iterator[Question | str]:
    """Yield a document's unanswerable questions that have all but one word from it."""
    return _take_turns(_NEARLY_RIGHT, collected, source, seed)


def _take_turns(
    offers: tuple[Offer, ...], collected: Collected, source: Source, seed: int
) -> Iterator[Question | str]:
    """Take one question of each kind in turn; a document's first kind is drawn."""
    first = int(drawn(seed, "kind", source.text[:1000])[:8], 16) % len(offers)
    waiting = deque(offer(collected, source, seed) for offer in offers[first:] + offers[:first])
    while waiting:
        kind = waiting.popleft()
        for question in kind:
            yield question
            if not isinstance(question, str):
                waiting.append(kind)
                break
