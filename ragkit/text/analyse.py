"""The bilingual analyser: one way from text to terms, for the index, the query and the evidence.

Words of alphabetic scripts are case-folded, ASCII ones stemmed as English; runs of Chinese,
Japanese and Korean characters become overlapping pairs (a lone character stays itself), which
needs no dictionary and no segmenter. Traditional characters count as simplified ones. There are no
stop words: idf gives them little weight.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from operator import add

from ragkit.text.stemmer import stemmer
from ragkit.text.variants import fold_variants

ANALYSER = "nfkc-casefold+english-stem+cjk-bigrams/2"  # part of the pipeline fingerprint
# Of collections that name none. What ends in /1 takes a character's variants for other characters.
FIRST_ANALYSER = "nfkc-casefold+english-stem+cjk-bigrams/1"

# Han with extensions and compatibility forms, kana, Hangul syllables, Bopomofo.
CJK = (
    "\u3005\u3007\u3040-\u30ff\u3100-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U000323af"
)
_TERM = re.compile(rf"[{CJK}]+|[^\W_{CJK}]+")
MAX_TERM_CHARS = 64  # arbitrary; longer runs are data, and an index entry has its limit
_WORD = re.compile(rf"([^\W_]{{1,{MAX_TERM_CHARS}}})[^\W_]*")  # of a text without CJK characters
CJK_CHARACTER = re.compile(rf"[{CJK}]")
_NOT_HAN = re.compile("[^\u4e00-\u9fff]+")  # what NFKC may change


def analyse(text: str) -> list[str]:
    """Split text into the terms it is indexed and searched by, in order, with repetitions.

    >>> analyse("The Wings of 航空公司, 2024")
    ['the', 'wing', 'of', '航空', '空公', '公司', '2024']
    """
    return split(text, stem_english, pairs)


def nfkc(text: str) -> str:
    """Bring a text into normal form NFKC.

    Han characters have no other form and combine with nothing. Chinese without them takes half the
    time: its full-width punctuation sends all of it through the slow way.
    """
    if text.isascii():
        return text
    return _NOT_HAN.sub(lambda match: unicodedata.normalize("NFKC", match.group()), text)


def comparable(text: str) -> str:
    """Bring a text into the form whose words and characters are compared.

    >>> comparable("ＡＢＣ 銀行")
    'abc 银行'
    """
    return fold_variants(nfkc(text).casefold())


def split(
    text: str,
    word: Callable[[str], str],
    run: Callable[[str], Sequence[str]],
    *,
    fold: Callable[[str], str] = fold_variants,
) -> list[str]:
    """Split text into words, each changed by `word`, and CJK runs, each taken apart by `run`."""
    if text.isascii():
        text = text.lower()
        if text.isalnum():  # most often it is a word
            return [word(text[:MAX_TERM_CHARS])]
        return list(map(word, _WORD.findall(text)))
    text = nfkc(text).casefold()
    if CJK_CHARACTER.search(text) is None:  # 4 times as quick as the loop
        return list(map(word, _WORD.findall(text)))
    text = fold(text)
    terms: list[str] = []
    for match in _TERM.findall(text):
        if CJK_CHARACTER.match(match):
            terms.extend(run(match))
        else:
            terms.append(word(match[:MAX_TERM_CHARS]))
    return terms


def units(
    text: str, word: Callable[[str], str], *, fold: Callable[[str], str] = fold_variants
) -> list[str]:
    """Split text into words and single CJK characters, "" where one run ends and another follows.

    What follows one another in it does so in the text, punctuation between words apart.

    >>> units("合同。A股 wings", stem_english)
    ['合', '同', 'a', '股', 'wing']
    """
    listed: list[str] = []
    for match in _TERM.finditer(fold(nfkc(text).casefold())):
        parts = match.group()
        if CJK_CHARACTER.match(parts):
            listed += ["", *parts] if listed and CJK_CHARACTER.match(listed[-1]) else parts
        else:
            listed.append(word(parts[:MAX_TERM_CHARS]))
    return listed


def pairs(run: str) -> Sequence[str]:
    """Take a run of CJK characters apart into overlapping pairs; a lone one stays itself."""
    return list(map(add, run, run[1:])) or [run]


def in_pairs(run: str, terms: Collection[str]) -> list[bool]:
    """Tell of each character of a CJK run whether a pair with one of its neighbours is known.

    What is known are terms, which have no traditional characters.

    >>> in_pairs("月租金", {"租金"})
    [False, True, True]
    """
    run = fold_variants(run)
    held = [run[i : i + 2] in terms for i in range(len(run) - 1)]
    return [
        left_pair or right_pair
        for left_pair, right_pair in zip([False, *held], [*held, False], strict=True)
    ]


@lru_cache(maxsize=1 << 17)
def stem_english(word: str) -> str:
    """Stem a word of ASCII letters; leave any other as it is."""
    if not (word.isascii() and word.isalpha()):
        return word
    return stemmer("english").stem(word)
