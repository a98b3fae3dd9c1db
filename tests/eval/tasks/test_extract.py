"""Letters read out of what models write, in English and Chinese."""

import pytest

from ragkit_eval.run.item import Item, Response
from ragkit_eval.tasks.extract import option_letter, option_letters, plain_number, said_answer
from ragkit_eval.tasks.extract_leniently import lenient_answer, lenient_number, same_answer
from ragkit_eval.tasks.scorers.text import SaidScorer


@pytest.mark.parametrize(
    ("text", "letter", "fallback"),
    [
        ("B", "B", False),
        (" B", "B", False),
        ("(C).", "C", False),
        ("**D**", "D", False),
        ("B. Because it is so", "B", False),
        ("A：因为", "A", False),
        ("B\nQ: What is A?", "B", False),
        ("The answer is (D).", "D", False),
        ("A first look says C. Still, the answer is B", "B", False),
        ("Answer: C", "C", False),
        ("the correct choice is D.", "D", False),
        ("答案是C。", "C", False),
        ("正确答案为：D", "D", False),
        ("因此，我们应选择B。", "B", False),
        ("故选A", "A", False),
        ("选 C", "C", False),
        ("A dog ate it", "", True),
        ("I would go with C", "C", True),
        ("Both A and B fit, but rather B.", "B", True),
        ("BAD luck, CAB drivers", "", True),
        ("E", "", True),
        ("", "", True),
        ("The answer is unknown", "", True),
    ],
)
def test_one_letter(text: str, letter: str, fallback: bool) -> None:
    assert option_letter(text, ("A", "B", "C", "D")) == (letter, fallback)


@pytest.mark.parametrize(
    ("text", "letters", "fallback"),
    [
        ("AB", "AB", False),
        ("A", "A", False),
        ("B, A and D", "ABD", False),
        ("（A）（C）", "AC", False),
        ("正确答案是A、B、D。", "ABD", False),
        ("The answer is AC", "AC", False),
        ("A dog", "", True),
        ("综合以上，ACD", "ACD", True),
        ("", "", True),
    ],
)
def test_several_letters(text: str, letters: str, fallback: bool) -> None:
    assert option_letters(text, ("A", "B", "C", "D")) == (letters, fallback)


def test_labels_may_be_numbers() -> None:
    assert option_letter("3", ("1", "2", "3", "4")) == ("3", False)
    assert option_letter("13", ("1", "2", "3", "4")).text in ("", "3")


def test_plain_number() -> None:
    assert plain_number("$ 1,234.") == "1234"


def test_said_answer_takes_the_last() -> None:
    assert said_answer("So the answer is 3. So the answer is 4.") == (
        "3. So the answer is 4",
        False,
    )
    assert said_answer("So the answer is 3.\nSo the answer is 4.") == ("4", False)


@pytest.mark.parametrize(
    ("text", "target", "strict", "lenient"),
    [
        ("**(B)**", "(B)", 0, 1),
        (r"$\boxed{B}$", "(B)", 0, 1),
        (r"\boxed{\text{(B)}}", "(B)", 0, 1),
        ("（B）", "(B)", 0, 1),
        ("B", "(B)", 0, 1),
        ("(B) 01/03/1963", "(B)", 0, 1),
        ("Option B.", "(B)", 0, 1),
        ("(B)", "(B)", 1, 1),
        ("(C)", "(B)", 0, 0),
        ("B or C", "(B)", 0, 0),
        ("Bad luck", "(B)", 0, 0),
        ("a dog", "(A)", 0, 0),
        ("Yes, because it is.", "Yes", 0, 1),
        ("No, although yes was said", "Yes", 0, 0),
        ("**True**", "True", 0, 1),
        ("１８", "18", 0, 1),
        ("apple, pear.", "apple pear", 0, 0),
        ("", "(B)", 0, 0),
    ],
)
def test_a_lenient_answer_stands_beside_the_published_rule(
    text: str, target: str, strict: float, lenient: float
) -> None:
    item = Item("1", "q", (target,))
    scores = SaidScorer(reasoned=False).score(item, Response(text=text)).scores
    assert scores == {"exact_match": strict, "exact_match_lenient": lenient}
    reasoned = SaidScorer(reasoned=True).score(item, Response(text=f"Hm.\nAnswer: {text}")).scores
    assert reasoned["exact_match_lenient"] == lenient


def test_the_lenient_rules_take_time_in_proportion_to_a_text() -> None:
    for piece in ("\\boxed{", "answer is ", "答案是", "1,", "**", "\\text{", "- "):
        long = piece * 20_000
        lenient_number(long)
        lenient_answer(long, reasoned=True)
        same_answer(lenient_answer(long, reasoned=False), "(B)")
