"""Follow-up questions without a language model: what a question leaves out is taken from the last.

It goes by marks alone: beginnings like "what about", pronouns that nothing in the question stands
for, and a lack of content words. It knows nothing of what was answered.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from ragkit.answer.question import has_cjk, read
from ragkit.text.analyse import CJK, analyse

# Of CLAPNQ's 300 questions, which all stand alone, 9 are taken for follow-ups with these limits, of
# CMRC 2018's 3,219 questions 17, of Cranfield's 225 none (docs/howto/conversations.md).
FEW: Final = 1  # content terms with which a question hardly stands on its own
SHORT: Final = 4  # content terms beside a pronoun; a longer question says itself what it means
BEFORE: Final = 2  # content terms before a pronoun, one of which may be what it stands for
MAX_ADDED: Final = 12  # terms; arbitrary: the question itself must stay the larger part

_OPENS = re.compile(
    r"\s*(?:and|but|or|so|what about|how about|what if|what else|how come|since when|how so|why not"
    r"|really)\b",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"\b(?:it|its|they|them|their|theirs|he|him|his|she|her|hers|these|those|this|that|ones?"
    r"|former|latter|same|such|then)\b",
    re.IGNORECASE,
)
_CJK_OPENS = re.compile(r"\s*(?:那|还有|還有|另外|此外|如果是|换成|換成)")
_CJK_PRONOUN = re.compile(
    r"它|他们|她们|他們|她們|[这那這](?:个|些|种|样|类|個|種|樣|類|里|裡)|上述|前者|后者|後者"
)
_CJK_WHAT_OF = re.compile(r"呢[？?。!！\s]*$")
_AND = re.compile(r"\w\s+and\s", re.IGNORECASE)  # "who was X and what did he do"
_RUN = re.compile(rf"[{CJK}]+|(?:(?![{CJK}_])\w)+")


def standalone(question: str, before: str) -> str:
    """Add to a follow-up the content words of the question before; leave any other as it is.

    >>> standalone("How long does it last?", "What is the probation period?")
    'How long does it last? (probation period)'
    >>> standalone("How long is the notice period?", "What is the probation period?")
    'How long is the notice period?'
    """
    if not analyse(question) or not follows_on(question):
        return question
    added = _content_words(before, question)
    if not added:
        return question
    return f"{question} ({' '.join(added)})"


def follows_on(question: str) -> bool:
    """Tell whether a question cannot be understood without the one before it.

    >>> follows_on("How long does it last?"), follows_on("How long does the probation last?")
    (True, False)
    >>> follows_on("那湿度呢？"), follows_on("标定实验室的湿度是多少？")
    (True, False)
    """
    content = len(read(question).content)
    if has_cjk(question):
        marked = _CJK_OPENS.match(question) or _CJK_WHAT_OF.search(question)
        return bool(marked or content <= FEW or _stands_open(question, _CJK_PRONOUN))
    if _OPENS.match(question) or content <= FEW:
        return True
    return content <= SHORT and _stands_open(question, _PRONOUN)


def _stands_open(question: str, pronouns: re.Pattern[str]) -> bool:
    """Tell whether there is a pronoun that nothing before it in the question can stand for."""
    found = pronouns.search(question)
    if found is None:
        return False
    before = question[: found.start()]
    return len(read(before).content) <= BEFORE and not _AND.search(before)


def _content_words(before: str, question: str) -> list[str]:
    """List the words of the question before that hold content, as it writes them."""
    content = read(before).content - read(question).content
    words: list[str] = []
    for run in _RUN.findall(before):
        if not has_cjk(run):
            words += [run] if content.intersection(analyse(run)) else []
        elif has_cjk(question):  # an English question stays one
            words += _stretches(run, content)
    return list(dict.fromkeys(words))[:MAX_ADDED]


def _stretches(run: str, content: Collection[str]) -> list[str]:
    """Cut a run of Chinese into the stretches that its pairs of content cover."""
    pairs = [run[i : i + 2] in content for i in range(len(run) - 1)] or [run in content]
    covered = [i for i in range(len(run)) if any(pairs[max(i - 1, 0) : i + 1])]
    marked = "".join(run[i] if i in covered else " " for i in range(len(run)))
    return marked.split()
