"""Words as ROUGE-1.5.5 cuts them on ASCII, and what it leaves open for other scripts."""

import pytest

from ragkit_eval.metrics.wordnet import open_wordnet
from ragkit_eval.metrics.words import is_cjk, porter, stems, words


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
    ("text", "cjk"),
    [
        ("", False),
        ("...", False),
        ("北京", True),
        ("a 北", False),
        ("北京 a", True),
        ("BM25 是什么 algorithm", True),
        ("Привет", False),
    ],
)
def test_script_goes_by_the_larger_part(text: str, cjk: bool) -> None:
    assert is_cjk(text) is cjk
