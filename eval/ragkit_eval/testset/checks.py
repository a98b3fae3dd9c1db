"""Check by words a question that a language model wrote about a passage.

Checked are the quotation in the source, the answer in the quotation, and that the question stands
alone and does not give its answer away.
"""

from __future__ import annotations

import re
from typing import Final

from ragkit.answer.check.numbers import NumberSet, find_numbers
from ragkit.answer.check.quotations import fold, locate
from ragkit.answer.check.support import SUPPORTED, Evidence, coverage
from ragkit.prompts.templates import PromptLanguage
from ragkit.question.reading import read_question
from ragkit.question.standalone import follows_on
from ragkit.text.analyse import analyse
from ragkit.text.language import language
from ragkit.types import Span

CHARS: Final = (8, 300)  # of a question; arbitrary, and so are the others
MAX_ANSWER_CHARS: Final = 200
MAX_QUOTE_CHARS: Final = 600
COPIED: Final = 0.9  # of the quotation's content terms in the question

# Words that refer to the text instead of naming its subject.
_POINTS = re.compile(
    r"\b(?:this|the|that|these|given|provided|following|above) "
    r"(?:document|text|passage|source|sources|article|excerpt|section|page|paragraph|sentence|quote"
    r"|context|author)s?\b|\b(?:above|below|aforementioned|mentioned here)\b"
    r"|本(?:文|页|頁|节|節|章|段|资料|資料|文档|文件)|[该該此这這](?:文|文档|文件|资料|資料|段|段落|篇|句)"
    r"|资料中|資料中|文中|上[文述]|下文|原文|以上|材料中",
    re.IGNORECASE,
)


def quoted_span(quote: str, passage: str) -> Span | None:
    """Find a quotation in a passage; only typography and white space may differ.

    >>> quoted_span("two  lines", "in two\\nlines.")
    Span(start=3, end=12)
    """
    if not analyse(quote) or len(quote) > MAX_QUOTE_CHARS:
        return None
    exact = passage.find(quote.strip())
    if exact >= 0:
        return Span(exact, exact + len(quote.strip()))
    if re.search(r"\.{3}|…", quote):  # an ellipsis would match anything
        return None
    return locate(quote, fold(passage))


def question_fault(question: str, expected: PromptLanguage) -> str:
    """Return what is wrong with a question by itself; "" if nothing is."""
    if not CHARS[0] <= len(question) <= CHARS[1] or "\n" in question:
        return "the question's length"
    if not question.rstrip('"”’」』').endswith(("?", "？")):
        return "not a question"
    if _POINTS.search(question) or follows_on(question):
        return "the question does not stand alone"
    detected = language(question)
    if detected and detected != expected:
        return "another language than the passage's"
    return ""


def answer_fault(question: str, answer: str, quote: str) -> str:
    """Return what is wrong with an answer, given the question and quotation; "" if nothing is."""
    if not analyse(answer) or len(answer) > MAX_ANSWER_CHARS:
        return "the answer's length"
    if fold(answer).text.strip(" .。") not in fold(quote).text:
        quoted_numbers = NumberSet.of([quote])
        if any(number not in quoted_numbers for number in find_numbers(answer)):
            return "the answer is not in the quotation"
        if coverage(answer, [Evidence([quote])]) < SUPPORTED:
            return "the answer is not in the quotation"
    question_terms, answer_terms = (
        frozenset(analyse(question)),
        read_question(answer).content or set(analyse(answer)),
    )
    if answer_terms <= question_terms:
        return "the question gives the answer away"
    copied = read_question(quote).content - answer_terms
    if (
        copied
        and len(copied & question_terms) >= COPIED * len(copied)
        and len(copied) > len(answer_terms)
    ):
        return "the question copies the sentence"
    return ""
