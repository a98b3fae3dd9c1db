"""Make cloze questions: a sentence with a gap, and the text of the gap as the answer.

They share their words with the source, so that a search by words finds them easily: they show what
breaks, but do not compare search by words with search by meaning (docs/howto/testset.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from ragkit.prompts.templates import PromptLanguage
from ragkit.text.analyse import analyse
from ragkit.types import Span
from ragkit_eval.sets import Question
from ragkit_eval.testset import label
from ragkit_eval.testset.blanks import Blank, blanks
from ragkit_eval.testset.places import Place, flat, places
from ragkit_eval.testset.rivals import Words, has_rival
from ragkit_eval.testset.sources import Source, drawn
from ragkit_eval.testset.wording import heading_text, searchable

if TYPE_CHECKING:
    from ragkit_eval.testset.absent import Collected

GAP: Final = "____"
_MARK = "\ue000"  # stands for the gap while white space is normalised


def cloze_questions(collected: Collected, source: Source, seed: int) -> Iterator[Question | str]:
    """Yield questions about a document, facts first, in an order drawn by the seed.

    A sentence that gives no question yields the reason, in a few words.
    """
    ordered = sorted(places(source), key=lambda place: drawn(seed, place.text))
    terms: list[tuple[Place, Words, Blank]] = []
    for place in ordered:
        words = Words(collected.store, collected.name, analyse(place.text))
        candidates = blanks(place.text, words.weight)
        if not candidates:
            yield "nothing in the sentence to ask for"
        elif candidates[0].kind == "term":
            terms.append((place, words, candidates[0]))
        else:
            yield _make_question(place, words, candidates[0])
    for place, words, blank in terms:
        yield _make_question(place, words, blank)


def gapped(text: str, blank: Blank) -> str:
    """Write a sentence on one line with a gap in the blank's place."""
    marked = text[: blank.start] + _MARK + text[blank.end :]
    return searchable(marked).replace(_MARK, GAP)


def word_cloze(sentence: str, language: PromptLanguage, *, under: str = "") -> str:
    """Word the question for a sentence with a gap; `under` is the heading above the sentence.

    It has no quotation marks, because a search requires their content in a passage.

    >>> word_cloze("The lab is kept at ____ °C.", "en", under="Climate")
    'Complete the sentence on Climate: The lab is kept at ____ °C.'
    >>> word_cloze("实验室温度为____℃。", "zh", under="环境条件")
    '填空（见环境条件）：实验室温度为____℃。'
    """
    if language == "zh":
        return f"填空（见{under}）：{sentence}" if under else f"填空：{sentence}"
    origin = f" on {under}" if under else ""
    return f"Complete the sentence{origin}: {sentence}"


def heading_of(place: Place) -> str:
    """Return a name of the place for readers: title and innermost heading, or the file."""
    document = place.source.document
    names = [document.title, *place.headings[-1:]] if document.title else [*place.headings[-2:]]
    flat_names = dict.fromkeys(map(heading_text, names))
    joined = " – ".join(name for name in flat_names if name)
    return joined[:120] or PurePath(document.uri).stem


def _make_question(place: Place, words: Words, blank: Blank) -> Question | str:
    text = place.text
    remaining = text[: blank.start] + " " + text[blank.end :]
    if has_rival(words, place, remaining):
        return "another sentence says nearly the same"
    answer = flat(text[blank.start : blank.end])
    heading = heading_of(place)
    if set(analyse(answer)) <= set(analyse(heading)):
        return "its heading gives the answer away"
    return label.answerable(
        place.source.document.uri,
        word_cloze(gapped(text, blank), place.language, under=heading),
        answer=answer,
        span=Span(place.start, place.end),
        quote=text,
        language=place.language,
        kind="cloze",
    )
