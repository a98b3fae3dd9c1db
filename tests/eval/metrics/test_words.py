"""Words as ROUGE-1.5.5 cuts them on ASCII, and what it leaves open for other scripts."""

import pytest

from ragkit_eval.metrics.wordnet import open_wordnet
from ragkit_eval.metrics.words import is_chinese, porter, stems, words


def test_ascii_words_are_letters_and_digits() -> None:
    text = "TRADE/ it's U.S.-led, $4,000_000 (90%)"
    assert words(text) == tuple("trade it s u s led 4 000 000 90".split())
    assert words(text + "\u00a0") == words(text)  # the same where the text is no longer ASCII


def test_other_scripts() -> None:
    assert words("第１２章：BM25算法 ﬁn Straße") == (
        "第",
        "12",
        "章",
        "bm25",
        "算",
        "法",
        "fin",
        "strasse",
    )
    assert words("カタカナ 한국") == ("カ", "タ", "カ", "ナ", "한", "국")
    assert words("…！ 。") == ()


def test_stems_leave_short_and_foreign_words_alone() -> None:
    assert porter("s") == "s"  # the stemmer alone would leave nothing of it
    assert stems("this was us 12th 北京") == (*stems("this was"), "us", "12th", "北", "京")


def test_irregular_forms_come_before_the_rules() -> None:
    wordnet = open_wordnet()
    if wordnet is None:
        pytest.skip("there is no WordNet here: apt-get install wordnet-base")
    assert stems("mice went better", wordnet) == ("mouse", "go", "good")
    assert stems("mice went") == ("mice", "went")


@pytest.mark.parametrize(
    ("text", "chinese"),
    [
        ("", False),
        ("...", False),
        ("北京", True),
        ("a text of many English words and one 北", True),
        ("1889年", True),
        ("1889。", True),
        ("BM25，TF-IDF", True),
        ("𠮷", True),
        ("Привет", False),
        ("“quoted” – and…", False),
        ("한국어", False),
    ],
)
def test_a_single_character_or_mark_makes_a_text_chinese(text: str, chinese: bool) -> None:
    assert is_chinese(text) is chinese
    assert is_chinese("plain", text) is chinese
