"""Make questions for the amounts in a document's sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ragkit.prompts.templates import PromptLanguage
from ragkit.question.reading import read_question
from ragkit.text.analyse import analyse
from ragkit.types import Span
from ragkit_eval.sets import Question
from ragkit_eval.testset import label
from ragkit_eval.testset.amounts import amounts
from ragkit_eval.testset.outline import topic_at
from ragkit_eval.testset.places import Place, places
from ragkit_eval.testset.rivals import Words, has_rival
from ragkit_eval.testset.sources import Source, drawn
from ragkit_eval.testset.wording import Amount, everyday, is_in, mid_sentence, with_topic

if TYPE_CHECKING:
    from ragkit_eval.testset.absent import Collected

# A shorter question is ambiguous; arbitrary.
MIN_CONTENT: Final = 3  # content terms in English
MIN_CHARS: Final = 15  # in Chinese
_QUESTION_TERMS: Final = frozenset(
    analyse("how long often much far many within after before until time")
)


def number_questions(collected: Collected, source: Source, seed: int) -> Iterator[Question | str]:
    """Yield a question for each sentence with an amount, in a drawn order, or a reason for none."""
    for place in sorted(places(source), key=lambda place: drawn(seed, "amount", place.text)):
        words = Words(collected.store, collected.name, analyse(place.text))
        candidates = sorted(
            amounts(place.text, words.weight, source.text),
            key=lambda amount: drawn(seed, amount.question),
        )
        if not candidates:
            yield "no amount that can be asked for well"
            continue
        yield _make_question(place, words, candidates[0])


def _make_question(place: Place, words: Words, amount: Amount) -> Question | str:
    if has_rival(words, place, place.text.replace(amount.answer, " ")):
        return "another place says nearly the same"
    text = everyday(amount.question, place.language)
    if _is_short(text, place.language):
        topic = mid_sentence(topic_at(place.source, place.start), place.source.text)
        if is_in(place.language, topic):
            text = with_topic(text, topic, place.language)
    if set(analyse(amount.answer)) <= set(analyse(text)):
        return "the question gives the answer away"
    return label.answerable(
        place.source.document.uri,
        text,
        answer=amount.answer,
        span=Span(place.start, place.end),
        quote=place.text,
        language=place.language,
        kind="number",
    )


def _is_short(text: str, language: PromptLanguage) -> bool:
    if language == "zh":
        return len(text) < MIN_CHARS
    return len(read_question(text).content - _QUESTION_TERMS) < MIN_CONTENT
