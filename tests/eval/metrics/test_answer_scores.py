"""Exact match, token F1, reference recall and contains: the published scripts' rules, by hand.

SQuAD: evaluate-v2.0.py; CMRC: cmrc2018_evaluate.py, version v5. Each case is worked out from the
rules in its comment.
"""

from collections.abc import Callable

import pytest

from ragkit.errors import UsageError
from ragkit_eval.metrics.answer_rules import cmrc_answer, cmrc_tokens, squad_answer
from ragkit_eval.metrics.contains import contains
from ragkit_eval.metrics.exact_match import exact_match
from ragkit_eval.metrics.reference_recall import reference_recall
from ragkit_eval.metrics.token_f1 import token_f1


def test_squad_reads_answers_without_case_marks_and_articles() -> None:
    assert squad_answer("The  U.S.\tSenate!") == "us senate"
    assert squad_answer("an apple, a day") == "apple day"
    assert squad_answer("Theatre—the best") == "theatre— best"  # marks beyond ASCII stay
    assert squad_answer("a an the") == ""


def test_cmrc_drops_its_list_of_marks() -> None:
    assert cmrc_answer(" 《红楼梦》：A_B。 ") == "红楼梦ab"
    assert cmrc_answer("“‘’”") == "‘"  # the list has no opening single quotation mark
    assert cmrc_answer("……") == "……"  # nor, by character, the ellipsis
    assert cmrc_tokens("共3.5万人，NBA球员") == ["共", "3.5", "万", "人", "nba", "球", "员"]
    # the list drops the full-width comma and not the ASCII one
    assert cmrc_tokens("一,二") == ["一", ",", "二"]


def test_exact_match() -> None:
    assert exact_match("The Beatles!", ["beatles", "Stones"]) == 1
    assert exact_match("Beatle", ["beatles"]) == 0
    assert exact_match("the", [""]) == 1  # nothing is left of either
    assert exact_match("《红楼梦》。", ["红楼梦"]) == 1
    assert exact_match("红楼梦。", ["红楼梦"], rules="squad") == 0


def test_squad_f1_shares_bags_of_words() -> None:
    # tokens "july 20 1969 july" and "july 20 1969": 3 shared, P = 3/4, R = 1, F = 6/7
    assert token_f1("July 20, 1969 (July)", ["july 20 1969"]) == pytest.approx(6 / 7)
    assert token_f1("1969 July", ["July 1969"]) == 1  # a bag has no order
    assert token_f1("x y", ["a x", "x y z"]) == pytest.approx(4 / 5)  # "a" is an article: 2/3
    assert token_f1("", [""]) == token_f1("the", ["a"]) == 1
    assert token_f1("", ["x"]) == token_f1("x", [""]) == 0


def test_cmrc_f1_shares_the_longest_run() -> None:
    # 北 京 大 学 | 北 京 理 工 大 学: the longest run of both is two characters: 4 / 10
    assert token_f1("北京大学", ["北京理工大学"]) == pytest.approx(4 / 10)
    # with a bag they would share four
    assert token_f1("学大京北", ["北京大学"]) == pytest.approx(2 / 8)
    # the answers are best by different ones: max(2*2/(2+4), 2*2/(2+2))
    assert token_f1("大学", ["北京大学", "大学"]) == 1
    assert token_f1("1949年", ["于1949年10月"]) == pytest.approx(2 * 2 / (2 + 5))
    assert token_f1("", ["北京"]) == 0


@pytest.mark.parametrize(
    ("prediction", "reference"),
    [
        ("1889年。", "1889年"),
        ("3.5万", "3.5万"),
        ("《BM25》", "BM25算法"[:4]),
        ("2024。", "2024"),
        ("1889-1890年", "1889-1890年。"),
        ("NBA、CBA、WCBA、FIBA的球员", "NBA CBA WCBA FIBA的球员。".replace(" ", "、")),
    ],
)
def test_a_single_chinese_character_or_mark_decides(prediction: str, reference: str) -> None:
    """Figures and Latin names outnumber the characters: by English rules these would differ."""
    assert exact_match(prediction, [reference]) == 1
    assert token_f1(prediction, [reference]) == 1


def test_rules_go_by_the_references_script() -> None:
    assert token_f1("a BM25", ["BM25"]) == 1  # squad: the article goes
    assert token_f1("a BM25", ["BM25"], rules="cmrc") == pytest.approx(2 / 3)


def test_reference_recall_is_the_share_of_the_references_terms() -> None:
    assert reference_recall("It was signed in Paris, in 1783.", ["Paris 1783"]) == 1
    assert reference_recall("The runner was running", ["He runs daily"]) == pytest.approx(1 / 3)
    assert reference_recall("twice", ["twice twice"]) == 1 / 2
    # pairs of characters: 曹雪 雪芹 of the reference, one of which is there
    assert reference_recall("是曹雪写的", ["曹雪芹"]) == 1 / 2
    assert reference_recall("x", ["...", "y"]) == 0
    assert reference_recall("!", ["..."]) == 1
    # a lone character of the reference has no pair
    assert reference_recall("休假两天", ["两"]) == 1
    assert reference_recall("休假三天", ["两"]) == 0


def test_contains_is_word_for_word() -> None:
    assert contains("The capital is PARIS.", ["Paris"]) == 1
    assert contains("a comparison of parishes", ["Paris"]) == 0
    assert contains("Paris, in 1783, it was", ["Paris in 1783"]) == 1
    assert contains("in 1783 Paris", ["Paris in 1783"]) == 0
    assert contains("由曹雪芹所写", ["曹雪芹"]) == 1
    assert contains("１２月", ["12 月"]) == 1  # full-width digits, and spaces, do not matter
    assert contains("x", ["", "?"]) == 0
    assert contains("", [""]) == 1


@pytest.mark.parametrize("score", [exact_match, token_f1, reference_recall, contains])
def test_there_must_be_a_reference(score: object) -> None:
    assert callable(score)
    with pytest.raises(UsageError, match="at least one reference"):
        score("x", [])


@pytest.mark.parametrize("score", [exact_match, token_f1, contains, reference_recall])
def test_a_lone_text_is_not_taken_for_references_of_one_character(
    score: Callable[[str, str], float],
) -> None:
    with pytest.raises(UsageError, match=r"are a list, not one text: give \[text\]"):
        score("北京", "北京")


def test_rules_that_are_not_known() -> None:
    with pytest.raises(UsageError, match="unknown rules 'sqaud': choose auto, squad, cmrc"):
        exact_match("a", ["a"], rules="sqaud")  # type: ignore[arg-type]
