"""Reading a question: its phrases, the words its answer should stand next to, its language.

It knows nothing of passages; how much a term weighs is decided where they are.
"""

import re
from dataclasses import dataclass

from ragkit.answer.expected import INTERROGATIVE, Kind, expected
from ragkit.text.analyse import CJK, analyse

_CJK = re.compile(f"[{CJK}]")
FUNCTION_WORDS = (
    r"\b(?:a|an|the|and|or|of|in|on|at|to|for|from|by|with|as|about|into|than|is|are|was|were|be|been"
    r"|being|am|do|does|did|done|has|have|had|can|could|will|would|shall|should|may|might|must|i|you"
    r"|he|she|it|we|they|me|my|your|his|her|its|our|their|them|this|that|these|those|there|many|much"
    r"|some|any|please|tell|s|t)\b"
)
_BREAK = re.compile(rf"{INTERROGATIVE.pattern}|{FUNCTION_WORDS}|[的是在有由被]|[^\w\s]", re.I)
FOCUS_CHARS, FOCUS_WORDS = 4, 2  # two words either way; 3/2 and 6/3 measured the same
MAX_QUESTION_CHARS = 2000  # arbitrary; what follows in a longer one is not read
# Frequent characters that only the traditional script has.
_TRADITIONAL = re.compile(
    "[這個們來時國會對說與為麼誰幾裡裏學現發後過種還點開關長問間東車書電話號處歲體戰黨應將從業員產"
    "機實際場經選舉總聯設計義語難戲劇樂團獎畫無親愛買賣讀寫聽見飛魚鳥龍門馬風雲陽縣區臺灣萬億歷屬於"
    "請嗎樣兒費額險級約價錢條題絡數據檔報告單線項規則須續辦論議財務訂購運維護權]"
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question's parts: `phrases` of terms, `focus` terms next to the interrogative, `kinds`.

    Terms are the analyser's and, beside CJK pairs, their single characters. `content` holds the
    analyser's own terms alone.
    """

    text: str
    phrases: tuple[frozenset[str], ...]
    content: frozenset[str]
    focus: frozenset[str]
    kinds: frozenset[Kind]


def read(text: str) -> Question:
    """Take a question apart.

    >>> sorted(read("Who wrote the Tale of Genji?").content)
    ['genji', 'tale', 'wrote']
    """
    text = text[:MAX_QUESTION_CHARS]
    parts = [part for part in _BREAK.split(text) if part and analyse(part)]
    return Question(
        text=text,
        phrases=tuple(terms(part) for part in parts),
        content=frozenset(term for part in parts for term in analyse(part)),
        focus=_focus(text),
        kinds=expected(text),
    )


def terms(text: str) -> frozenset[str]:
    """List a text's distinct terms: the analyser's, and every single CJK character.

    >>> sorted(terms("Go 银行"))
    ['go', '行', '银', '银行']
    """
    return frozenset(analyse(text)) | frozenset(_CJK.findall(text))


def has_cjk(text: str) -> bool:
    """Tell whether a text holds Chinese, Japanese or Korean characters."""
    return _CJK.search(text) is not None


def is_traditional(text: str) -> bool:
    """Tell whether a Chinese text is written in the traditional script."""
    return _TRADITIONAL.search(text) is not None


def _focus(text: str) -> frozenset[str]:
    """The terms beside the interrogative: in English after it, in Chinese on both sides."""
    asked = INTERROGATIVE.search(text)
    if asked is None:
        return frozenset()
    if has_cjk(text):
        sides = text[: asked.start()][-FOCUS_CHARS:], text[asked.end() :][:FOCUS_CHARS]
        return frozenset().union(*(terms(_BREAK.sub(" ", side)) for side in sides))
    after = _BREAK.sub(" ", text[asked.end() :]).split()
    return terms(" ".join(after[:FOCUS_WORDS]))
