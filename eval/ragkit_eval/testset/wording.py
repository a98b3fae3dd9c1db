"""Word a made question: without search syntax, in everyday words, with its topic."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ragkit.prompts.templates import PromptLanguage
from ragkit.question.reading import has_cjk
from ragkit.text.analyse import analyse
from ragkit_eval.testset.places import flat

MOST_TOPIC_CHARS: Final = 80  # arbitrary

_EMPHASIS = re.compile(r"\*\*|__(?=\w)|(?<=\w)__|`")
# Search syntax: a phrase, a required or excluded word.
_QUOTES = re.compile('["＂“”「」『』]')
_SIGN = re.compile(r"(?<!\S)[+＋\-－−](?=[^\W\d_])")
_NUMBERING = re.compile(
    r"^(?:第[一二三四五六七八九十\d]{1,3}[章节節条條部]|[（(][一二三四五六七八九十\d]{1,3}[)）]"
    r"|[一二三四五六七八九十]{1,3}[、.．]|\d{1,2}(?:\.\d{1,2}){0,3}[.、)]?(?=\s|[^\W\d_]))\s?"
)
_COMMON = re.compile(r"(?:ing|ions?|ments?|ances?|ity|ness|age|[a-z]{3}s)$")
# Words of rules and manuals with their everyday synonyms: only words whose synonym fits the same
# position in every sentence, which few do.
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
    """A question for an amount, and the answer as it stands in the sentence."""

    question: str
    answer: str


def searchable(text: str) -> str:
    """Write a text on one line, without search syntax and Markdown emphasis.

    >>> searchable('The “status page” is -on- call.')
    'The status page is on- call.'
    """
    return flat(_SIGN.sub("", _QUOTES.sub("", _EMPHASIS.sub("", text))))


def everyday(question: str, language: PromptLanguage) -> str:
    """Replace words of rules and manuals by everyday words.

    >>> everyday("How many weeks of leave do parents receive?", "en")
    'How many weeks of leave do parents get?'
    >>> everyday("一次可以借多少册？", "zh")
    '一次能借多少册？'
    """
    for pattern, plain in _EVERYDAY[language]:
        question = pattern.sub(plain, question)
    return question


def heading_text(heading: str) -> str:
    """Return a heading without its marks and number.

    >>> heading_text("## 二、供电"), heading_text("3.1 Mounting"), heading_text("24-hour service")
    ('供电', 'Mounting', '24-hour service')
    """
    bare = searchable(heading.lstrip("#")).strip(" :：")
    return _NUMBERING.sub("", bare) or bare


def mid_sentence(phrase: str, text: str) -> str:
    """Lower a phrase's first letter unless the text shows that its first word is a name.

    A word is no name if the text has it in lower case, or if its form is that of a common noun
    and the text never capitalises it within a sentence.

    >>> mid_sentence("Hotels", "Book hotels yourself."), mid_sentence("Dublin", "In Dublin.")
    ('hotels', 'Dublin')
    >>> mid_sentence("Opening hours", ""), mid_sentence("Lakeview service", "We run Lakeview.")
    ('opening hours', 'Lakeview service')
    """
    first, _, other_words = phrase.partition(" ")
    if not first[:1].isupper() or not (first[1:].islower() or first == "A"):
        return phrase
    small = first.lower() + phrase[len(first) :]
    if re.search(rf"(?<!\w){re.escape(first.lower())}(?!\w)", text):
        return small
    if re.search(rf"[a-z,] {re.escape(first)}(?!\w)", text):
        return phrase
    common = other_words.islower() or _COMMON.search(first) is not None
    return small if common else phrase


def with_topic(question: str, topic: str, language: PromptLanguage) -> str:
    """Prefix a question with its topic, unless the question names it already.

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
    """Tell whether parts suit a question's language: no Chinese in an English question."""
    return language == "zh" or not any(map(has_cjk, parts))
