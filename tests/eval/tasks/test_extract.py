"""Letters read out of what models write, in English and Chinese."""

import pytest

from ragkit_eval.tasks.extract import option_letter, option_letters, plain_number, said_answer


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
