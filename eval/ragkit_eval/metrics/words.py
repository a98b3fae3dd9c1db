"""Words of English and Chinese texts for the ROUGE family, METEOR and `contains`.

On ASCII they are exactly ROUGE-1.5.5's words.
"""

import re
import unicodedata
from functools import lru_cache

from ragkit.text.analyse import CJK
from ragkit.text.stemmer import stemmer

TOKENS = "words+cjk-characters-superscripts"  # in signatures
_ASCII = re.compile(r"[a-z0-9]+")
_WORD = re.compile(rf"[{CJK}]|(?:(?![{CJK}_])\w)+")
_SUPERSCRIPT = re.compile("[\u00b2\u00b3\u00b9\u2070\u2074-\u2079]")
# Han with its extensions and compatibility forms; marks such as 。《》 and full-width ，：？！（）
_CHINESE = re.compile(
    "[\u3001-\u3003\u3007-\u3011\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uff0f"
    "\uff1a-\uff20\uff3b-\uff40\uff5b-\uff60\U00020000-\U000323af]"
)
_CACHED_TEXTS = 1024  # several metrics and references score a text one after the other


@lru_cache(maxsize=_CACHED_TEXTS)
def words(text: str) -> tuple[str, ...]:
    """Split into case-folded runs of letters and digits; each CJK character is a word.

    Compatibility forms are unified first (NFKC), so that full-width digits are digits. Superscript
    digits, which mark notes and citations, are no words.

    >>> words("Well-known: 航空 2024⁶")
    ('well', 'known', '航', '空', '2024')
    """
    if text.isascii():
        return tuple(_ASCII.findall(text.lower()))
    text = unicodedata.normalize("NFKC", without_superscripts(text))
    return tuple(_WORD.findall(text.casefold()))


def without_superscripts(text: str) -> str:
    """Replace superscript digits by blanks: as digits they would lengthen the number before them.

    >>> without_superscripts("in 1969⁶ and 1970")
    'in 1969  and 1970'
    """
    return _SUPERSCRIPT.sub(" ", text)


@lru_cache(maxsize=1 << 16)
def porter(word: str) -> str:
    """Stem a word of three ASCII letters or more by Porter's original algorithm.

    >>> porter("relational"), porter("as"), porter("北京")
    ('relat', 'as', '北京')
    """
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    return stemmer("porter").stem(word)


def is_chinese(*texts: str) -> bool:
    """Return whether any text holds a Han character or a mark of Chinese punctuation.

    A count would take an answer that is mostly figures for English.

    >>> is_chinese("1889年"), is_chinese("1889", "1889。"), is_chinese("1889.", "한국어")
    (True, True, False)
    """
    return any(not text.isascii() and _CHINESE.search(text) for text in texts)
