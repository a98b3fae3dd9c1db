"""Reading a model's answer takes linear time, whatever the model wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import pytest

from ragkit_eval.tasks import extract
from tests.adversarial import UNITS, slow_text

LABELS: Final = "ABCD"
MORE: Final = (
    "A and ",
    "A,",
    "the answer is ",
    "答案是",
    "\\boxed{",
    "$1$ ",
    "####",
    "-$",
    "\\text{",
)
FUNCTIONS: Final[Mapping[str, Callable[[str], object]]] = {
    "option_letter": lambda text: extract.option_letter(text, LABELS),
    "option_letters": lambda text: extract.option_letters(text, LABELS),
    "option_letter after words": lambda text: extract.option_letter(f"The answer is{text}", LABELS),
    "option_letters after words": lambda text: extract.option_letters(
        f"The answer is{text}", LABELS
    ),
    "final_number": extract.final_number,
    "is_number": extract.is_number,
    "said_answer": extract.said_answer,
    "math_answer": extract.math_answer,
    "same_math": lambda text: extract.same_math(text, "1"),
}


@pytest.mark.long
@pytest.mark.parametrize("name", FUNCTIONS)
def test_time_grows_with_the_text_and_no_faster(name: str) -> None:
    assert slow_text(FUNCTIONS[name], (*UNITS, *MORE)) == ""
