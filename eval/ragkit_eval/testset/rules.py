"""Questions without a language model: which kinds there are, and how many of each a set has.

Kinds that ask in other words than the source come first; cloze makes up what they do not give.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from ragkit_eval.sets import Question
from ragkit_eval.testset.cloze import cloze_questions
from ragkit_eval.testset.definitions import definition_questions
from ragkit_eval.testset.headings import heading_questions
from ragkit_eval.testset.number_questions import number_questions
from ragkit_eval.testset.other_properties import other_property_questions
from ragkit_eval.testset.other_things import other_thing_questions
from ragkit_eval.testset.sources import Source, drawn
from ragkit_eval.testset.table_questions import table_questions
from ragkit_eval.testset.unknown_terms import unknown_term_questions

if TYPE_CHECKING:
    from ragkit_eval.testset.absent import Collected

Offer = Callable[["Collected", Source, int], Iterator[Question | str]]

CLOZE_SHARE: Final = 0.2  # of the answerable ones, where the others are enough; arbitrary
EASY_SHARE: Final = 0.3  # of the unanswerable ones: terms that are nowhere; arbitrary

_OWN_WORDS: Final[tuple[Offer, ...]] = (
    table_questions,
    number_questions,
    definition_questions,
    heading_questions,
)
_NEARLY_RIGHT: Final[tuple[Offer, ...]] = (other_thing_questions, other_property_questions)


def answerable_steps(wanted: int) -> list[tuple[Offer, int]]:
    """Return what to offer in turn, and how many questions of each step are taken at most."""
    cloze = math.ceil(wanted * CLOZE_SHARE)
    return [(in_other_words, wanted - cloze), (cloze_questions, wanted), (in_other_words, wanted)]


def unanswerable_steps(wanted: int) -> list[tuple[Offer, int]]:
    """Return the same for questions that no document answers: those that are nearly right first."""
    easy = math.floor(wanted * EASY_SHARE)
    return [(nearly_right, wanted - easy), (unknown_term_questions, wanted)]


def in_other_words(collected: Collected, source: Source, seed: int) -> Iterator[Question | str]:
    """Yield a document's questions from tables, numbers, definitions and headings, in turn."""
    return _in_turn(_OWN_WORDS, collected, source, seed)


def nearly_right(collected: Collected, source: Source, seed: int) -> Iterator[Question | str]:
    """Yield a document's questions that all but one word of is there."""
    return _in_turn(_NEARLY_RIGHT, collected, source, seed)


def _in_turn(
    offers: tuple[Offer, ...], collected: Collected, source: Source, seed: int
) -> Iterator[Question | str]:
    """Take one question of each kind after the other; a document's first kind is drawn."""
    first = int(drawn(seed, "kind", source.text[:1000])[:8], 16) % len(offers)
    waiting = deque(offer(collected, source, seed) for offer in offers[first:] + offers[:first])
    while waiting:
        kind = waiting.popleft()
        for question in kind:
            yield question
            if not isinstance(question, str):
                waiting.append(kind)
                break
