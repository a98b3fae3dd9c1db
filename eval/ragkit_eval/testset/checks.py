"""What is wrong with a question that a language model wrote about a passage, checked by words.

It knows nothing of the model. Everything that can be checked is: the quotation in the source, the
answer in the quotation, a question that stands alone and does not give its answer away.
"""

from __future__ import annotations

import re
from typing import Final

from ragkit.answer.numbers import NumberSet, find_numbers
from ragkit.answer.question import read_question
from ragkit.answer.quotations import fold, locate
from ragkit.answer.support import SUPPORTED, Evidence, coverage
from ragkit.answer.templates import PromptLanguage
from ragkit.conversation.alone import follows_on
from ragkit.text.analyse import analyse
from ragkit.text.language import language
from ragkit.types import Span

CHARS: Final = (8, 300)  # of a question; arbitrary, and so are the others
MOST_ANSWER_CHARS: Final = 200
MOST_QUOTE_CHARS: Final = 600
COPIED: Final = 0.9  # of the quotation's content terms in the question

# Words that point at the text instead of naming what it is about.
_POINTS = re.compile(
    r"\b(?:this|the|that|these|given|provided|following|above) "
    r"(?:document|text|passage|source|sources|article|excerpt|section|page|paragraph|sentence|quote"
    r"|context|author)s?\b|\b(?:above|below|aforementioned|mentioned here)\b"
    r"|本(?:文|页|頁|节|節|章|段|资料|資料|文档|文件)|[该該此这這](?:文|文档|文件|资料|資料|段|段落|篇|句)"
    r"|资料中|資料中|文中|上[文述]|下文|原文|以上|材料中",
    re.IGNORECASE,
)


def quoted_span(quote: str, passage: str) -> Span | None:
    """Find a quotation in a passage; typography and white space may differ, nothing else.

    >>> quoted_span("two  lines", "in two\\nlines.")
    Span(start=3, end=12)
    """
    if not analyse(quote) or len(quote) > MOST_QUOTE_CHARS:
        return None
    exact = passage.find(quote.strip())
    if exact >= 0:
        return Span(exact, exact + len(quote.strip()))
    if re.search(r"\.{3}|…", quote):  # an ellipsis would stand for anything
        return None
    return locate(quote, fold(passage))


def question_fault(question: str, wanted: PromptLanguage) -> str:
    """Say what is wrong with a question on its own; "" when nothing is."""
    if not CHARS[0] <= len(question) <= CHARS[1] or "\n" in question:
        return "the question's length"
    if not question.rstrip('"”’」』').endswith(("?", "？")):
        return "not a question"
    if _POINTS.search(question) or follows_on(question):
        return "the question does not stand alone"
    found = language(question)
    if found and found != wanted:
        return "another language than the passage's"
    return ""


def answer_fault(question: str, answer: str, quote: str) -> str:
    """Say what is wrong with an answer to a question, from a quotation; "" when nothing is."""
    if not analyse(answer) or len(answer) > MOST_ANSWER_CHARS:
        return "the answer's length"
    if fold(answer).text.strip(" .。") not in fold(quote).text:
        held = NumberSet.of([quote])
        if any(number not in held for number in find_numbers(answer)):
            return "the answer is not in the quotation"
        if coverage(answer, [Evidence([quote])]) < SUPPORTED:
            return "the answer is not in the quotation"
    said, content = (
        frozenset(analyse(question)),
        read_question(answer).content or set(analyse(answer)),
    )
    if content <= said:
        return "the question gives the answer away"
    copied = read_question(quote).content - content
    if copied and len(copied & said) >= COPIED * len(copied) and len(copied) > len(content):
        return "the question copies the sentence"
    return ""
