"""The bilingual analyser: one way from text to terms, for the index, the query and the metrics.

Words of alphabetic scripts are case-folded, ASCII ones stemmed as English; runs of Chinese,
Japanese and Korean characters become overlapping pairs (a lone character stays itself), which
needs no dictionary and no segmenter. It knows nothing of stop words: idf weighs them down.
"""

import re
import unicodedata
from functools import lru_cache

from ragkit.text.stemmer import stemmer

ANALYSER = "nfkc-casefold+english-stem+cjk-bigrams/1"  # part of the pipeline fingerprint

# Han with extensions and compatibility forms, kana, Hangul syllables, Bopomofo.
CJK = (
    "\u3005\u3007\u3040-\u30ff\u3100-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U000323af"
)
_TERM = re.compile(rf"[{CJK}]+|(?:(?![{CJK}_])\w)+")
MAX_TERM_CHARS = 64  # arbitrary; longer runs are data, and an index entry has its limit
_CJK_RUN = re.compile(rf"[{CJK}]")


def analyse(text: str) -> list[str]:
    """Split text into the terms it is indexed and searched by, in order, with repetitions.

    >>> analyse("The Wings of 航空公司, 2024")
    ['the', 'wing', 'of', '航空', '空公', '公司', '2024']
    """
    terms: list[str] = []
    for match in _TERM.finditer(unicodedata.normalize("NFKC", text).casefold()):
        run = match.group()
        if not _CJK_RUN.match(run):
            terms.append(_stem(run[:MAX_TERM_CHARS]))
        elif len(run) == 1:
            terms.append(run)
        else:
            terms.extend(run[i : i + 2] for i in range(len(run) - 1))
    return terms


@lru_cache(maxsize=1 << 17)
def _stem(word: str) -> str:
    if not (word.isascii() and word.isalpha()):
        return word
    return stemmer("english").stem(word)
