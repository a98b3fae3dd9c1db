"""Read a question: its phrases, its content terms, its focus, its language."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ragkit.question.answer_kinds import INTERROGATIVE, Kind, expected_kinds
from ragkit.text.analyse import CJK, analyse, comparable
from ragkit.text.variants import fold_variants

Language = Literal["en", "zh", "zh-Hant"]  # of the words around an answer

_CJK = re.compile(f"[{CJK}]")
FUNCTION_WORDS = (
    r"\b(?:a|an|the|and|or|of|in|on|at|to|for|from|by|with|as|about|into|than|is|are|was|were|be|been"
    r"|being|am|do|does|did|done|has|have|had|can|could|will|would|shall|should|may|might|must|i|you"
    r"|he|she|it|we|they|me|my|your|his|her|its|our|their|them|this|that|these|those|there|many|much"
    r"|some|any|please|tell|s|t)\b"
)
# Verbs with "not", and the short forms of verbs after an apostrophe; a question is often typed
# without the apostrophe, which `_spell_out` puts in.
_NEGATED = "is|are|was|were|do|does|did|has|have|had|ca|could|wo|would|should|must|need"
_CONTRACTION = rf"\b(?:{_NEGATED})n['’]t\b|(?<=\w['’])(?:ve|re|ll|d|m)\b"
_WITHOUT_APOSTROPHE = re.compile(
    rf"\b(?i:((?:{_NEGATED})n)(t)|(who|what|when|where|why|how|that|there)(s)"
    r"|(you|they|we)(ve)|(you|they)(re|ll))\b|\b([Ii])(m)\b|\b(i)(ve)\b"
)
# Polite phrases, and verbs without content.
_POLITE_WORDS = (
    r"\b(?:hi|hello|hey|dear|thanks|thank|cheers|sorry|excuse|kindly|know|say|want|wanna|wondering"
    r"|wonder|need|like|get|got|going|gonna|supposed|just|really|actually|mean|if|so|ok|okay|per|until|happens?|happened|things?|stuff|back|comes?|lets?|ones?|then"
    r"|(?<=how )(?:long|often|far|old|soon|late|early))\b"
)
_CJK_POLITE = (
    r"请问一?下?|請問一?下?|我?想要?问一?下?|我?想要?問一?下?|我?想知道|麻烦|麻煩|谢谢|謝謝|告诉我"
    r"|告訴我|一下|能不能|可不可以|可以不可以|是不是|有没有|有沒有|要不要|会不会|會不會|需不需要"
    r"|可以|需要|应该|應該|应当|應當|必须|必須|怎么办|怎麼辦|多长时间|多長時間|多久|多长|多長|多大|多高"
    r"|多远|多遠|多重|多少钱|多少錢|什么样|什麼樣|到底|究竟|来着|來著|平时|平時|一般|大概|现在|現在"
    r"|如果|要是|的话|的話|自己|咱们|咱們|我们|我們|你们|你們|大家|时候|時候|事情|一[个個]|几[个個]|幾個"
    r"|目前|凭啥|憑啥|为啥|為啥|怎么算|怎麼算|咋样|咋"
)
_BREAK = re.compile(
    rf"{_CJK_POLITE}|{INTERROGATIVE.pattern}|{_CONTRACTION}|{FUNCTION_WORDS}|{_POLITE_WORDS}|[的是在有由被]|[^\w\s]",
    re.I,
)
# Characters of grammar, in both scripts.
_FUNCTION_CHARACTERS = frozenset(
    "的是了和与與及等于於有由被为為从從到对對中以所而其也都就这這那個个共一位吗嗎呢啊吧呀么麼着著过過把给給"
    "让讓请請问問想我你您他她它们們要会會能可得该該应應还還又再很太最更才只没沒不别別什哪谁誰多少几幾"
    "怎样樣如何时時候啥来來去上下里裡裏在后後前者之或并並但因则則"
)
_RUN = re.compile(f"[{CJK}]+")
_SUNDAY = re.compile("(?:星期|礼拜|禮拜)天(?![气氣])")
_WEEKDAY = re.compile("(?:星期|礼拜|禮拜)(?=[一二三四五六日])")
_YES_OR_NO = frozenset({"吗", "嗎", "是否", "呢"})
FOCUS_CHARS, FOCUS_WORDS = 4, 2  # two words either way; 3/2 and 6/3 measured the same
CHINESE_SHARE = 0.15  # of a text's characters, from which it is Chinese; by judgement
MAX_QUESTION_CHARS = 2000  # arbitrary; the remainder of a longer one is ignored
# Frequent characters of the traditional script alone.
_TRADITIONAL = re.compile(
    "[這個們來時國會對說與為麼誰幾裡裏學現發後過種還點開關長問間東車書電話號處歲體戰黨應將從業員產"
    "機實際場經選舉總聯設計義語難戲劇樂團獎畫無親愛買賣讀寫聽見飛魚鳥龍門馬風雲陽縣區臺灣萬億歷屬於"
    "請嗎樣兒費額險級約價錢條題絡數據檔報告單線項規則須續辦論議財務訂購運維護權謝氣內養寵約衛層樓鄰遲變讓園師導週燈鐘廳廚廁]"
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question's parts: `phrases` of terms, `focus` terms next to the interrogative, `kinds`.

    Terms are the analyser's and, in addition to CJK pairs, their single characters. `content` holds
    the analyser's own terms alone. `runs` are the stretches of CJK characters with content, folded
    as the analyser folds them; `text` is the original, with the apostrophes that it lacks.
    """

    text: str
    phrases: tuple[frozenset[str], ...]
    content: frozenset[str]
    focus: frozenset[str]
    kinds: frozenset[Kind]
    runs: tuple[str, ...] = ()

    @property
    def words(self) -> frozenset[str]:
        """The content terms of alphabetic scripts and numbers."""
        return frozenset(term for term in self.content if not has_cjk(term))

    @property
    def yes_or_no(self) -> bool:
        """Whether the question asks only for yes or no, or for nothing in particular."""
        interrogative = INTERROGATIVE.search(self.text)
        return interrogative is None or interrogative.group() in _YES_OR_NO

    @property
    def units(self) -> frozenset[str]:
        """The content words, and the single CJK characters that are no grammar."""
        return self.words.union(c for c in "".join(self.runs) if not is_function_character(c))


@lru_cache(maxsize=256)  # arbitrary: an answer reads its question several times
def read_question(text: str) -> Question:
    """Split a question into its parts.

    >>> sorted(read_question("Who wrote the Tale of Genji?").content)
    ['genji', 'tale', 'wrote']
    >>> sorted(read_question("whats the fine if i dont pay").content)
    ['fine', 'pay']
    """
    text = _spell_out(text[:MAX_QUESTION_CHARS])
    folded = _fold_weekdays(fold_variants(text))
    parts = [part for part in _BREAK.split(folded) if part and analyse(part)]
    return Question(
        text=text,
        phrases=tuple(distinct_terms(part) for part in parts),
        content=frozenset(term for part in parts for term in analyse(part)),
        focus=_focus(folded),
        kinds=expected_kinds(text),
        runs=tuple(run for part in parts for run in _content_runs(part)),
    )


def _spell_out(text: str) -> str:
    """Put in apostrophes that were left out: "whats" is "what's"."""
    return _WITHOUT_APOSTROPHE.sub(lambda match: "'".join(filter(None, match.groups())), text)


def is_function_character(character: str) -> bool:
    """Tell whether a CJK character has only a grammatical function."""
    return character in _FUNCTION_CHARACTERS


def _content_runs(part: str) -> list[str]:
    return _RUN.findall(comparable(part))


def distinct_terms(text: str) -> frozenset[str]:
    """List a text's distinct terms: the analyser's, and every single CJK character.

    A day of the week counts as the same by each of its names.

    >>> sorted(distinct_terms("Go 银行"))
    ['go', '行', '银', '银行']
    >>> distinct_terms("礼拜天") == distinct_terms("星期日") == distinct_terms("周日")
    True
    """
    text = _fold_weekdays(text)
    return frozenset(analyse(text)) | frozenset(_CJK.findall(fold_variants(text)))


def _fold_weekdays(text: str) -> str:
    return _WEEKDAY.sub("周", _SUNDAY.sub("周日", text))


def has_cjk(text: str) -> bool:
    """Tell whether a text holds Chinese, Japanese or Korean characters."""
    return _CJK.search(text) is not None


def language_of(text: str) -> str:
    """Return "zh" for Chinese, "" for anything else."""
    return "zh" if len(_CJK.findall(text)) > CHINESE_SHARE * len(text) else ""


def is_traditional(text: str) -> bool:
    """Tell whether a Chinese text is written in the traditional script."""
    return _TRADITIONAL.search(text) is not None


def question_language(text: str) -> Language:
    """Return the language in which a question is answered: English unless it is Chinese.

    >>> [question_language(text) for text in ("Who?", "谁写的？", "誰寫的？")]
    ['en', 'zh', 'zh-Hant']
    """
    if not has_cjk(text):
        return "en"
    return "zh-Hant" if is_traditional(text) else "zh"


def _focus(text: str) -> frozenset[str]:
    """Return the terms next to the interrogative: in English after it, in Chinese on both sides."""
    interrogative = INTERROGATIVE.search(text)
    if interrogative is None:
        return frozenset()
    if has_cjk(text):
        sides = (
            text[: interrogative.start()][-FOCUS_CHARS:],
            text[interrogative.end() :][:FOCUS_CHARS],
        )
        return frozenset().union(*(distinct_terms(_BREAK.sub(" ", side)) for side in sides))
    following = _BREAK.sub(" ", text[interrogative.end() :]).split()
    return distinct_terms(" ".join(following[:FOCUS_WORDS]))
