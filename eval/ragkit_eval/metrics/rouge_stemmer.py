"""The stemmer of ROUGE-1.5.5: Porter's rules with the changes that its author made to them.

It differs from Porter 1980 in three ways: "logi" becomes "log", any "bli" becomes "ble", and a word
that keeps its "ement" is tried for "ment" and then for "ent", as one that keeps its "ment" is for
"ent". So "document" is "docum" and "agreement" is "agreem". Digits count as consonants.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from ragkit_eval.metrics.wordnet import WordNet
from ragkit_eval.metrics.words import words

_MIN_CHARS: Final = 4  # shorter words stay, irregular ones too
_CACHED_WORDS: Final = 1 << 16
_DOUBLE_ENDS: Final = frozenset("aeiouylsz")  # letters that stay doubled
_SECOND: Final = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "bli": "ble",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
    "logi": "log",
}
_THIRD: Final = {
    "icate": "ic",
    "ative": "",
    "alize": "al",
    "iciti": "ic",
    "ical": "ic",
    "ful": "",
    "ness": "",
}
_FOURTH: Final = (
    *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ou", "ism", "ate"),
    *("iti", "ous", "ive", "ize"),
)


def stems(text: str, wordnet: WordNet | None = None) -> tuple[str, ...]:
    """Split into words stemmed as in ROUGE-1.5.5: WordNet's irregular forms, else Porter's rules.

    Without a WordNet irregular forms stay: "went" is not "go". Words of up to three characters and
    of other scripts stay, too.

    >>> stems("Nations negotiated trade subsidies")
    ('nation', 'negoti', 'trade', 'subsidi')
    """
    irregular = wordnet.irregular if wordnet is not None else _no_form
    return tuple(
        irregular(word) or rouge_stem(word) if len(word) >= _MIN_CHARS and word.isascii() else word
        for word in words(text)
    )


def _no_form(word: str) -> str:
    return ""


@lru_cache(maxsize=_CACHED_WORDS)
def rouge_stem(word: str) -> str:
    """Stem a lower-case word of ASCII letters and digits as ROUGE-1.5.5 does.

    A word of one or two characters stays. Sources: Porter 1980, https://doi.org/10.1108/eb046814;
    the changes are those that the program's comments name.

    >>> [rouge_stem(word) for word in ("document", "technology", "agreement", "1990s", "yearly")]
    ['docum', 'technolog', 'agreem', '1990', 'yearli']
    """
    if len(word) < 3:
        return word
    word = _strip_past(_strip_plural(word))
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replace(_replace(word, _SECOND), _THIRD)
    return _strip_final(_strip_suffix(word))


def _strip_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _strip_past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    ending = "ed" if word.endswith("ed") else "ing"
    stem = word.removesuffix(ending)
    if stem == word or "v" not in _shape(stem):
        return word
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if len(stem) > 1 and stem[-1] == stem[-2] and stem[-1] not in _DOUBLE_ENDS:
        return stem[:-1]
    return stem + "e" if _is_short(stem) else stem


def _replace(word: str, endings: dict[str, str]) -> str:
    """Replace the longest of the endings that the word has, after a stem of measure 1 or more."""
    ending = _longest(word, endings)
    if ending and _measure(word.removesuffix(ending)) > 0:
        return word.removesuffix(ending) + endings[ending]
    return word


def _strip_suffix(word: str) -> str:
    """Drop endings after stems of measure 2 or more, "ment" and "ent" after the others."""
    for ending in (_longest(word, _FOURTH), "ment"):
        if ending and word.endswith(ending) and _measure(word.removesuffix(ending)) > 1:
            word = word.removesuffix(ending)
    if word.endswith("ent"):
        stem = word.removesuffix("ent")
        return stem if _measure(stem) > 1 else word
    if word.endswith(("sion", "tion")) and _measure(word[:-3]) > 1:
        return word[:-3]
    return word


def _strip_final(word: str) -> str:
    if word.endswith("e"):
        stem = word[:-1]
        if _measure(stem) > 1 or (_measure(stem) == 1 and not _is_short(stem)):
            word = stem
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _longest(word: str, endings: dict[str, str] | tuple[str, ...]) -> str:
    return max((ending for ending in endings if word.endswith(ending)), key=len, default="")


def _shape(word: str) -> str:
    """Write "v" for each vowel and "c" for each consonant; "y" is a vowel after a consonant."""
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _measure(stem: str) -> int:
    """Count the changes from vowel to consonant."""
    return _shape(stem).count("vc")


def _is_short(stem: str) -> bool:
    """Tell whether a stem is consonants, one vowel, and a consonant other than w, x and y."""
    shape = _shape(stem)
    return shape == "c" * (len(shape) - 2) + "vc" and len(shape) > 2 and stem[-1] not in "wxy"
