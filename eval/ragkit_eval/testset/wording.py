"""How a made question is worded: without marks of search, in everyday words, with its topic.

It knows nothing of where a question comes from.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ragkit.answer.question import has_cjk
from ragkit.answer.templates import PromptLanguage
from ragkit.text.analyse import analyse
from ragkit_eval.testset.places import flat

MOST_TOPIC_CHARS: Final = 80  # arbitrary

_EMPHASIS = re.compile(r"\*\*|__(?=\w)|(?<=\w)__|`")
# A search takes these for demands: a phrase, a word that must or must not be there.
_QUOTES = re.compile('["＂“”「」『』]')
_SIGN = re.compile(r"(?<!\S)[+＋\-－−](?=[^\W\d_])")
_NUMBERING = re.compile(
    r"^(?:第[一二三四五六七八九十\d]{1,3}[章节節条條部]|[（(][一二三四五六七八九十\d]{1,3}[)）]"
    r"|[一二三四五六七八九十]{1,3}[、.．]|\d{1,2}(?:\.\d{1,2}){0,3}[.、)]?(?=\s|[^\W\d_]))\s?"
)
_COMMON = re.compile(r"(?:ing|ions?|ments?|ances?|ity|ness|age|[a-z]{3}s)$")
# Words of rules and manuals, and what somebody would say instead. Only what keeps its meaning and
# its place in the sentence wherever it stands; the list is short because few words do.
_EVERYDAY: Final[dict[PromptLanguage, tuple[tuple[re.Pattern[str], str], ...]]] = {
    "en": (
        (re.compile(r"\bpurchase\b"), "buy"),
        (re.compile(r"\bpurchased\b"), "bought"),
        (re.compile(r"\breceive\b"), "get"),
        (re.compile(r"\bobtain\b"), "get"),
        (re.compile(r"\bcommence\b"), "start"),
        (re.compile(r"\bbegin\b"), "start"),
        (re.compile(r"\bpermitted\b"), "allowed"),
        (re.compile(r"\brepaired\b"), "fixed"),
        (re.compile(r"\brepair\b"), "fix"),
        (re.compile(r"\bobliged to\b"), "expected to"),
        (re.compile(r"\bemployees\b"), "staff"),
    ),
    "zh": (
        (re.compile("应当|必须|須(?!知)|须(?!知)"), "要"),
        (re.compile("可以"), "能"),
        (re.compile("享有"), "有"),
        (re.compile("[缴交]纳"), "交"),
        (re.compile("遗失"), "丢失"),
        (re.compile("提交"), "交"),
        (re.compile("保存"), "保留"),
        (re.compile("立即"), "马上"),
        (re.compile("乘坐"), "坐"),
        (re.compile("告知"), "通知"),
    ),
}


@dataclass(frozen=True, slots=True)
class Amount:
    """A question for an amount, and the answer as the sentence has it."""

    question: str
    answer: str


def searchable(text: str) -> str:
    """Write a text on one line without what a search reads as a demand, nor Markdown's emphasis.

    >>> searchable('The “status page” is -on- call.')
    'The status page is on- call.'
    """
    return flat(_SIGN.sub("", _QUOTES.sub("", _EMPHASIS.sub("", text))))


def everyday(question: str, language: PromptLanguage) -> str:
    """Put everyday words in the place of those of rules and manuals.

    >>> everyday("How many weeks of leave do parents receive?", "en")
    'How many weeks of leave do parents get?'
    >>> everyday("一次可以借多少册？", "zh")
    '一次能借多少册？'
    """
    for pattern, plain in _EVERYDAY[language]:
        question = pattern.sub(plain, question)
    return question


def heading_text(heading: str) -> str:
    """Return a heading without its marks and its number.

    >>> heading_text("## 二、供电"), heading_text("3.1 Mounting"), heading_text("24-hour service")
    ('供电', 'Mounting', '24-hour service')
    """
    bare = searchable(heading.lstrip("#")).strip(" :：")
    return _NUMBERING.sub("", bare) or bare


def mid_sentence(phrase: str, text: str) -> str:
    """Begin a phrase small where its first word is no name, as far as a text shows.

    It is none where the text has it small, too, or where it is common by its shape and the text
    never has it with a capital within a sentence.

    >>> mid_sentence("Hotels", "Book hotels yourself."), mid_sentence("Dublin", "In Dublin.")
    ('hotels', 'Dublin')
    >>> mid_sentence("Opening hours", ""), mid_sentence("Lakeview service", "We run Lakeview.")
    ('opening hours', 'Lakeview service')
    """
    first, _, rest = phrase.partition(" ")
    if not first[:1].isupper() or not (first[1:].islower() or first == "A"):
        return phrase
    small = first.lower() + phrase[len(first) :]
    if re.search(rf"(?<!\w){re.escape(first.lower())}(?!\w)", text):
        return small
    if re.search(rf"[a-z,] {re.escape(first)}(?!\w)", text):
        return phrase
    common = rest.islower() or _COMMON.search(first) is not None
    return small if common else phrase


def with_topic(question: str, topic: str, language: PromptLanguage) -> str:
    """Put before a question what it is about, unless the question says it already.

    >>> with_topic("What is the limit for Dublin?", "hotels", "en")
    'Regarding hotels, what is the limit for Dublin?'
    >>> with_topic("一线城市的每晚限额是多少？", "住宿", "zh")
    '关于住宿，一线城市的每晚限额是多少？'
    """
    terms = set(analyse(topic))
    if not terms or terms <= set(analyse(question)) or len(topic) > MOST_TOPIC_CHARS:
        return question
    if language == "zh":
        return f"关于{topic}，{question}" if has_cjk(topic) else question
    return f"Regarding {topic}, {question[:1].lower()}{question[1:]}"


def is_in(language: PromptLanguage, *parts: str) -> bool:
    """Tell whether parts can stand in a question of a language: no Chinese in an English one."""
    return language == "zh" or not any(map(has_cjk, parts))
