"""Words as ROUGE-1.5.5 cuts them on ASCII, and what it leaves open for other scripts."""

import pytest

from ragkit_eval.metrics.registry import text_metric
from ragkit_eval.metrics.rouge_stemmer import rouge_stem, stems
from ragkit_eval.metrics.wordnet import open_wordnet
from ragkit_eval.metrics.words import is_chinese, porter, words


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


@pytest.mark.parametrize("mark", ["⁶", "¹²", "³"])
def test_superscript_citation_marks_are_no_digits_of_a_word(mark: str) -> None:
    text = f"It opened in 1969{mark} in Paris{mark}。"
    assert words(text) == ("it", "opened", "in", "1969", "in", "paris")
    for name in ("contains", "reference_recall", "rouge-1", "meteor:wordnet=none"):
        metric = text_metric(name)
        plain = metric.item("It opened in 1969 in Paris", ["opened in 1969"])
        assert metric.item(text, [f"opened{mark} in 1969{mark}"]) == plain


def test_stems_leave_short_and_foreign_words_alone() -> None:
    assert porter("s") == "s"  # the stemmer alone would leave nothing of it
    assert stems("this was us 12th 北京") == (*stems("this was"), "us", "12th", "北", "京")


def test_irregular_forms_come_before_the_rules() -> None:
    wordnet = open_wordnet()
    if wordnet is None:
        pytest.skip("there is no WordNet here: apt-get install wordnet-base")
    assert stems("mice went better", wordnet) == ("mouse", "go", "good")
    assert stems("mice went") == ("mice", "went")
    # ROUGE-1.5.5 leaves words of up to three letters alone, irregular ones, too
    assert stems("men ran to was is ate", wordnet) == ("men", "ran", "to", "was", "is", "ate")


# Each worked out by the rules of Porter 1980 with the three changes that the program's author made.
STEMS = {
    "document": "docum",  # not "ment", of measure 1, and then "ent", of measure 2
    "agreement": "agreem",
    "environment": "environ",
    "environmental": "environ",  # "al", and then "ment"
    "technology": "technolog",
    "possibly": "possibl",  # bli -> ble, then the final e
    "replacement": "replac",
    "element": "elem",
    "parent": "parent",
    "adjustment": "adjust",
    "agreed": "agre",
    "feed": "feed",
    "plastered": "plaster",
    "sing": "sing",
    "motoring": "motor",
    "conflated": "conflat",
    "troubled": "troubl",
    "hopping": "hop",
    "tanned": "tan",
    "falling": "fall",
    "hissing": "hiss",
    "filing": "file",
    "happy": "happi",
    "sky": "sky",
    "relational": "relat",
    "rational": "ration",
    "vietnamization": "vietnam",
    "hopefulness": "hope",
    "adoption": "adopt",
    "communism": "commun",
    "probate": "probat",
    "rate": "rate",
    "controll": "control",
    "roll": "roll",
    "caresses": "caress",
    "ponies": "poni",
    "yellows": "yellow",
    "1990s": "1990",
    "by": "by",
}


@pytest.mark.parametrize(("word", "stem"), STEMS.items())
def test_rouges_own_variant_of_porters_rules(word: str, stem: str) -> None:
    assert rouge_stem(word) == stem


def test_its_changes_are_all_that_differs_from_porter() -> None:
    """The classical algorithm gives another stem for each of these, and the same for the others."""
    changed = {"document", "agreement", "technology", "possibly", "element", "environmental"}
    assert {w for w in STEMS if w.isalpha() and porter(w) != STEMS[w]} == changed


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
