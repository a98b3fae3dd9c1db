"""Find the sentences of a document that can be asked about: complete, self-contained prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ragkit.prompts.templates import PromptLanguage
from ragkit.question.reading import FUNCTION_WORDS, has_cjk, read_question
from ragkit.text.analyse import CJK
from ragkit.text.sentences import sentences
from ragkit_eval.testset.sources import Source, language_of

# Arbitrary: shorter ones are hard to find, longer ones hard to read.
CHARS: Final = {"en": (40, 300), "zh": (16, 120)}
MIN_CONTENT: Final = {"en": 4, "zh": 7}  # content terms; in Chinese pairs of characters

_LIST_MARK = re.compile(r"(?:>\s*)*(?:[-*•]|\d{1,3}[.)、]|[(（]\d{1,3}[)）])?\s+|>+\s*")
# Markup, code, addresses, tables and damaged text are not prose.
_NOT_PROSE = re.compile(
    r"[|`{}\\\ufffd\x00-\x08\x0e-\x1f]|\]\(|https?://|^#|=>|->|\.{4}|_{3}|''|``|（\s*）|\(\s*\)"
)
_END = {"en": re.compile(r"(?<!\d\.\d)[.!][\"”’)]*$"), "zh": re.compile(r"[。！][”’」』）)]*$")}
# Sentences that depend on the previous text, or on their position.
_DEPENDENT = {
    "en": re.compile(
        r"^(?:it|its|they|them|their|he|she|his|her|this|that|these|those|such|here|there|then|thus"
        r"|so|but|and|or|nor|yet|also|however|therefore|hence|otherwise|instead|moreover|in this"
        r"|in that|for this|for example|for instance|the (?:former|latter|same|following|above))\b"
        r"|\b(?:this|these|those)\b(?! who\b| that\b| which\b)"
        r"|\b(?:above|below|following|aforementioned|as (?:shown|listed|described) in)\b"
        r"|\b(?:figure|table|section|chapter|page|fig\.) \d",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"^(?:[，、；：）」』”]|[它他她]|[这那這此该該其]|但|而|并|並|也|又|还|還|否则|否則|因此|所以|然而|不过|不過|另外|此外"
        r"|同时|同時|例如|比如|上述|以上|如下|前者|后者|後者)"
        r"|本(?:文|页|頁|节|節|章|表|图|圖|手册|手冊|指南|规范|規範|制度|规定|規定|办法|辦法)"
        r"|[上下][文表图圖述]|如[图圖表]|见[图圖表第《]",
    ),
}
_FUNCTION_WORD = re.compile(FUNCTION_WORDS, re.IGNORECASE)
# A pronoun in the first clause refers to another sentence.
_OPEN_PRONOUN = re.compile(
    r"^(?:(?!\b(?:and|but|or|which|that|if|when|because|where|who|as|than|until|while|so)\b)[^,;:])*?"
    r"\b(?:it|them|him|they|he|she)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Place:
    """A sentence `start:end` of a source's text, with the headings above it."""

    source: Source
    start: int
    end: int
    language: PromptLanguage
    headings: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return the text of the sentence."""
        return self.source.text[self.start : self.end]


def places(source: Source) -> Iterator[Place]:
    """Yield the sentences of a document that can be asked about, in order."""
    for span in sentences(source.text):
        mark = _LIST_MARK.match(source.text, span.start, span.end)
        start = mark.end() if mark else span.start
        passage = source.passage_at(start)
        language = language_of(source.text[start : span.end], source.document)
        if passage is None or language is None:
            continue
        place = Place(source, start, span.end, language, passage.headings)
        if _stands_alone(place.text, language):
            yield place


def flat(text: str) -> str:
    r"""Write a text on one line: a break between Chinese characters is removed, others are spaces.

    >>> flat("two\n lines，两\n行")
    'two lines，两行'
    """
    joined = re.sub(rf"(?<=[{CJK}，。；：、])\s*\n\s*(?=[{CJK}])", "", text)
    return " ".join(joined.split())


def _stands_alone(text: str, language: PromptLanguage) -> bool:
    shortest, longest = CHARS[language]
    if not shortest <= len(text) <= longest or "\n\n" in text or _NOT_PROSE.search(text):
        return False
    if not _END[language].search(text) or _DEPENDENT[language].search(text):
        return False
    if has_cjk(text) != (language == "zh") or _is_unpaired(text):
        return False
    if language == "en" and (_OPEN_PRONOUN.search(text) or not _FUNCTION_WORD.search(text)):
        return False
    return len(read_question(text).content) >= MIN_CONTENT[language]


def _is_unpaired(text: str) -> bool:
    """Tell whether a bracket or quotation mark has no counterpart, as in a fragment."""
    return any(
        text.count(pair[0]) != text.count(pair[1]) for pair in ("()", "（）", "“”", "「」", "《》")
    )
