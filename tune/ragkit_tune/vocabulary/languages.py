"""The scripts that languages are written in, and the script of a token's letters."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

from ragkit.errors import UsageError

# As Unicode's character names begin.
_LATIN: Final = frozenset({"LATIN"})
_CYRILLIC: Final = frozenset({"CYRILLIC"})
_ARABIC: Final = frozenset({"ARABIC"})
_DEVANAGARI: Final = frozenset({"DEVANAGARI"})
SCRIPTS: Final[dict[str, frozenset[str]]] = {
    **dict.fromkeys("cs da de en es et fi fr hr hu id it lt lv ms nl no pl pt ro".split(), _LATIN),
    **dict.fromkeys("sk sl sq sv sw tl tr vi".split(), _LATIN),
    **dict.fromkeys("be bg kk mk mn ru uk".split(), _CYRILLIC),
    **dict.fromkeys("ar fa ur".split(), _ARABIC),
    **dict.fromkeys("hi mr ne".split(), _DEVANAGARI),
    "sr": _CYRILLIC | _LATIN,
    "zh": frozenset({"CJK", "BOPOMOFO"}),
    "ja": frozenset({"CJK", "HIRAGANA", "KATAKANA"}),
    "ko": frozenset({"HANGUL"}),
    "bn": frozenset({"BENGALI"}),
    "el": frozenset({"GREEK"}),
    "he": frozenset({"HEBREW"}),
    "hy": frozenset({"ARMENIAN"}),
    "ka": frozenset({"GEORGIAN"}),
    "ta": frozenset({"TAMIL"}),
    "te": frozenset({"TELUGU"}),
    "th": frozenset({"THAI"}),
}
_NAMES: Final = frozenset().union(*SCRIPTS.values())
_OTHER_NAMES: Final = {"IDEOGRAPHIC": "CJK"}
_FORMULAS: Final = "GREEK"  # whose single letters stand in texts of every language


def scripts_of_languages(languages: Sequence[str]) -> frozenset[str]:
    """Return the scripts of languages such as "en" and "zh". Raises UsageError."""
    for language in languages:
        if language not in SCRIPTS:
            raise UsageError(
                f"--vocabulary {language!r} is no known language: choose from"
                f" {', '.join(sorted(SCRIPTS))}"
            )
    return frozenset().union(*(SCRIPTS[language] for language in languages))


def scripts_of_texts(texts: Iterable[str]) -> frozenset[str]:
    """Return the scripts that texts' letters are of."""
    letters = set[str]().union(*texts)
    return frozenset(filter(None, map(script, letters)))


@cache
def script(char: str) -> str:
    """Return a letter's script as Unicode names it; "" for marks and other characters.

    Digits are of a script where it has its own.

    >>> script("é"), script("年"), script("ー"), script("7"), script("७")
    ('LATIN', 'CJK', 'KATAKANA', '', 'DEVANAGARI')
    """
    category = unicodedata.category(char)
    if category[0] not in "LM" and category != "Nd":
        return ""
    words = unicodedata.name(char, "").replace("-", " ").split()
    for word in words[:2]:
        name = _OTHER_NAMES.get(word, word)
        if name in _NAMES:
            return name
    return "" if category == "Nd" or words[:1] == ["COMBINING"] else "other"


def is_written_in(token: str, scripts: frozenset[str]) -> bool:
    """Tell whether all letters of a token are of these scripts; single Greek letters always are."""
    letters = [name for name in map(script, token) if name]
    return scripts.issuperset(letters) or letters == [_FORMULAS]
