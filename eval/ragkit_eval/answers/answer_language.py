"""Whether an answer is in the language of its question."""

from ragkit.text.language import language
from ragkit.text.markers import without_markers
from ragkit_eval.metrics.words import is_chinese

_CJK_LANGUAGES = frozenset({"zh", "ja", "ko"})
_FEW_WORDS = 3  # arbitrary: a name or a number is the same in both languages


def language_match(question: str, text: str) -> bool:
    """Return whether an answer is in its question's language, by script and words.

    Chinese, Japanese, Korean and all other languages together are distinguished, so that a German
    answer to an English question matches. An answer of at most three words without a recognisable
    language, such as a number or a product's name, matches every language; so does an empty one.

    >>> [language_match("水泵有多重?", text) for text in ("It weighs 40 kg.", "40 kg", "40公斤")]
    [False, True, True]
    """
    plain = without_markers(text)
    question_language, answer_language = _language(question), _language(plain)
    if question_language not in _CJK_LANGUAGES:
        return answer_language not in _CJK_LANGUAGES
    if not answer_language:
        return len(plain.split()) <= _FEW_WORDS
    # A Japanese answer in only Chinese characters cannot be distinguished from a Chinese one.
    return answer_language == question_language or (question_language, answer_language) == (
        "ja",
        "zh",
    )


def _language(text: str) -> str:
    """Name a text's language; a Chinese character decides where no words do."""
    return language(text) or ("zh" if is_chinese(text) else "")
