"""Name a text's language where the script or its commonest words give it away.

Covers what ragkit treats specially; anything else is "", which is never an error.
"""

import re

_SAMPLE_CHARS = 20_000  # a language shows early
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_KANA = re.compile(r"[\u3040-\u30ff]")
_HANGUL = re.compile(r"[\uac00-\ud7af]")
_WORD = re.compile(r"(?:(?![\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af])[^\W\d_])+")
_ENGLISH = frozenset("the of and to in a is for that with on as are by this it from or be".split())
_ENGLISH_SHARE = 0.15  # of words; running English has 0.3 to 0.4, other languages under 0.08


def language(text: str) -> str:
    """Return "zh", "ja", "ko", "en", or "" when it is none of them or cannot be told.

    >>> language("今天的会议改到下午三点。"), language("The meeting is at three.")
    ('zh', 'en')
    """
    sample = text[:_SAMPLE_CHARS]
    words = _WORD.findall(sample.casefold())
    han, kana, hangul = (len(s.findall(sample)) for s in (_HAN, _KANA, _HANGUL))
    # A Chinese character says about as much as half a word, and names of products, which are
    # Latin, are words too: mixed texts go by their larger part.
    if han + kana + hangul > len(words):
        if kana > han / 10:
            return "ja"
        return "zh" if han >= hangul else "ko"
    english = sum(word in _ENGLISH for word in words)
    return "en" if words and english / len(words) >= _ENGLISH_SHARE else ""
