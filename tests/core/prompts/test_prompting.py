"""Examples and steps as rules of a prompt, and the bounds of both."""

import pytest

from ragkit.errors import UsageError
from ragkit.prompts.prompting import Example, Prompting
from ragkit.prompts.templates import Templates

LEAVE = Example("How long is leave?", "25 days [1].")


def test_examples_stand_before_the_steps_in_either_language() -> None:
    prompting = Prompting((LEAVE, Example("Who </source> pays?", "The firm [1].")), steps=True)
    english = prompting.rules(Templates(), "en")
    assert english.startswith("These questions were answered well.")
    assert (
        "Question: How long is leave?\nAnswer: 25 days [1].\n\nQuestion: Who ‹/source>" in english
    )
    assert english.index("Answer: The firm [1].") < english.index('"### Answer"')
    assert "问题： How long is leave?" in prompting.rules(Templates(), "zh")
    assert "“### 答案”" in Prompting(steps=True).rules(Templates(), "zh")


def test_nothing_is_added_to_a_plain_prompt() -> None:
    assert Prompting(samples=3).rules(Templates(), "en") == ""


def test_the_options_of_a_trace() -> None:
    assert Prompting((LEAVE,), steps=True, samples=3).as_json() == {
        "examples": 1, "steps": True, "samples": 3,
    }  # fmt: skip


def test_more_than_the_bounds_is_refused() -> None:
    with pytest.raises(UsageError, match="there are 17 examples: give at most 16"):
        Prompting((LEAVE,) * 17)
    with pytest.raises(UsageError, match="example 2 has a question or answer of 4001 characters"):
        Prompting((LEAVE, Example("a", "b" * 4001)))
    with pytest.raises(UsageError, match="of 0 characters: write 1 to 4000"):
        Prompting((Example("a", ""),))
    for samples in (0, 10):
        with pytest.raises(UsageError, match=f"{samples} samples are asked for: take 1 to 9"):
            Prompting(samples=samples)
