"""Whether an answer speaks the language that it was asked in."""

from ragkit.answer.markers import without_markers
from ragkit.text.language import language

_OWN_SCRIPT = frozenset({"zh", "ja", "ko"})
_FEW_WORDS = 3  # arbitrary: a name or a number is the same in both languages


def language_match(question: str, text: str) -> bool:
    """Tell whether an answer is in its question's language, as far as script and words show it.

    Chinese, Japanese, Korean and everything else are told apart, so that a German answer to an
    English question passes. An answer of at most three words in no language that can be told, such
    as a number or a product's name, is in any; so is an empty one.

    >>> [language_match("水泵有多重?", said) for said in ("It weighs 40 kg.", "40 kg", "40公斤")]
    [False, True, True]
    """
    plain = without_markers(text)
    asked, said = language(question), language(plain)
    if asked not in _OWN_SCRIPT:
        return said not in _OWN_SCRIPT
    if not said:
        return len(plain.split()) <= _FEW_WORDS
    # A Japanese answer in Chinese characters alone cannot be told from a Chinese one.
    return said == asked or (asked, said) == ("ja", "zh")
