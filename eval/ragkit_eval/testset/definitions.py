"""Make questions for definitions: "a locum is a doctor ...", "**Cold chain**: ...", "X是指…"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ragkit.answer.check.names import find_names
from ragkit.prompts.templates import PromptLanguage
from ragkit.text.analyse import analyse
from ragkit.text.sentences import sentences
from ragkit.types import Span
from ragkit_eval.sets import Question
from ragkit_eval.testset import label
from ragkit_eval.testset.absent import Collected
from ragkit_eval.testset.outline import topic_at
from ragkit_eval.testset.places import flat
from ragkit_eval.testset.sources import Source, drawn, language_of
from ragkit_eval.testset.wording import is_in, mid_sentence, searchable

CHARS: Final = {"en": (12, 240), "zh": (6, 120)}  # of a definition; arbitrary

_MARK = re.compile(r"(?:[-*•]\s{1,3}|\d{1,2}[.)、]\s{0,2}|>\s)")
_BOLD = re.compile(r"\*\*([^*\n:：]{2,40})(?:[:：]\*\*|\*\*\s{0,2}[:：])\s{0,3}")
_LISTED = re.compile(r"([^*\n:：,.。，；;!?！？]{2,40})[:：]\s{0,3}")
_ENGLISH = re.compile(
    r"(?:(An?) )?([A-Za-z][\w-]{1,30}(?: [\w-]{1,30}){0,3}?) (is|are|means|refers to|stands for) "
)
_CHINESE = re.compile(
    r"(?:所谓)?([^，。；：、（）()\s的]{2,12}?)(?:是指|指的是|意为|系指|是一种|是一種)"
)
_NO_TERM = re.compile(
    r"\b(?:it|this|that|there|here|what|which|who|he|she|they|we|you|one|nobody|everybody|anybody"
    r"|anything|everything|nothing|first|second|third|last|next|only|other|following|example|note"
    r"|if|when|because|of|on|in|at|for|to|and|or|must|may|can|not|no|each|every|day|week|month|year"
    r"|the|also|\w{2,12}ly|name|word|answer|reason|purpose|goal|aim|result|\w{2,6}day|january|february|march|april|june|july|august"
    r"|september|october|november|december)\b|^The ",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"(?:an?|the|any|one of) ")
_GLOSSARY = re.compile(
    r"glossary|definition|terms|abbreviation|术语|術語|名词|名詞|定义|定義|词汇|缩写"
)


@dataclass(frozen=True, slots=True)
class Definition:
    """A term with its `article`, and its meaning in the sentence `start:end`.

    `named` says that the term is a name.
    """

    term: str
    meaning: str
    start: int
    end: int
    plural: bool = False
    named: bool = False
    article: str = ""


def definitions(source: Source, language: PromptLanguage) -> Iterator[Definition]:
    """Yield the definitions of a document, in order."""
    shortest, longest = CHARS[language]
    for span in sentences(source.text):
        mark = _MARK.match(source.text, span.start, span.end)
        start = mark.end() if mark else span.start
        sentence = source.text[start : span.end]
        if sentence.startswith(("#", "|")):
            continue
        defined = _read_listed(source, sentence, start) or _read_sentence(sentence, language)
        if defined is None:
            continue
        term, meaning_text, verb, article = defined
        meaning = flat(searchable(meaning_text)).rstrip(".。；; ")
        if shortest <= len(meaning) <= longest:
            named = verb == "is" and not article
            yield Definition(term, meaning, start, span.end, verb == "are", named, article)


def term_question(definition: Definition, language: PromptLanguage, text: str) -> str:
    """Ask what a term is; the document's `text` tells whether it is a name.

    >>> term_question(Definition("locum", "a doctor ...", 0, 9, article="A"), "en", "")
    'What is a locum?'
    >>> term_question(Definition("馆际互借", "……", 0, 9), "zh", "")
    '馆际互借是什么意思？'
    """
    if language == "zh":
        return f"{definition.term}是什么意思？"
    # A list of terms may have a name that the text does not show as one: it stays unchanged.
    term = mid_sentence(definition.term, text) if definition.article else definition.term
    if definition.article:
        return f"What is {definition.article.lower()} {term}?"
    if definition.plural or definition.named:
        return f"What {'are' if definition.plural else 'is'} {term}?"
    return f"What does {term} mean?"


def definition_questions(
    collected: Collected, source: Source, seed: int
) -> Iterator[Question | str]:
    """Yield a question for each term that only this sentence of the collection defines."""
    language = language_of(source.text, source.document)
    if language is None:
        return
    candidates = definitions(source, language)
    for definition in sorted(
        candidates, key=lambda definition: drawn(seed, "term", definition.term)
    ):
        text = term_question(definition, language, source.text)
        if not is_in(language, text):
            continue
        yield (
            _make_question(source, definition, text, language)
            if _is_only(collected, source, definition)
            else "another place says nearly the same"
        )


def _make_question(
    source: Source, definition: Definition, text: str, language: PromptLanguage
) -> Question | str:
    if set(analyse(definition.meaning)) <= set(analyse(text)):
        return "the question gives the answer away"
    return label.answerable(
        source.document.uri,
        text,
        answer=definition.meaning,
        span=Span(definition.start, definition.end),
        quote=source.text[definition.start : definition.end],
        language=language,
        kind="definition",
    )


def _is_only(collected: Collected, source: Source, definition: Definition) -> bool:
    """Tell whether no other sentence of the collection defines the term."""
    terms = frozenset(analyse(definition.term))
    begins = re.compile(
        rf"(?:^|[.。!！?？\n*-])\s{{0,3}}(?:\*\*)?(?:An? |The )?{re.escape(definition.term)}"
        r"(?:\*\*)?(?: is | are | means |[:：]|是|指)",
        re.IGNORECASE,
    )
    for hit in collected.passages_with(terms):
        for match in begins.finditer(hit.text):
            at = hit.start + match.end()
            if hit.document != source.document.id or not definition.start <= at <= definition.end:
                return False
    return True


def _read_listed(source: Source, sentence: str, start: int) -> tuple[str, str, str, str] | None:
    """Read "**X**: ...", and "X: ..." below a heading such as "Glossary"."""
    match = _BOLD.match(sentence)
    if match is None and _GLOSSARY.search(topic_at(source, start).casefold()):
        match = _LISTED.match(sentence)
    if match is None:
        return None
    term = searchable(match[1]).strip()
    return (term, sentence[match.end() :], "means", "") if analyse(term) else None


def _read_sentence(sentence: str, language: PromptLanguage) -> tuple[str, str, str, str] | None:
    if language == "zh":
        match = _CHINESE.match(sentence)
        return (match[1], sentence[match.end() :], "means", "") if match else None
    match = _ENGLISH.match(sentence)
    if match is None or _NO_TERM.search(match[2]):
        return None
    article, term, verb = match[1] or "", match[2], match[3]
    remaining = sentence[match.end() :]
    if verb in {"is", "are"}:
        # "Charging is limited to ...": a definition begins with an article.
        named = any(
            sentence[name.start : name.end] in term for name in find_names(f"So {sentence}")
        )
        if not _ARTICLE.match(remaining) or not (article or named or " " not in term):
            return None
    return term, remaining, verb, article
