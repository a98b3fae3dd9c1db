"""Telling a model's steps from its answer, as the pieces come."""

import re
from collections.abc import Iterator

import pytest

from ragkit.answer.write.steps import split_steps
from ragkit.types import Finish, Reasoning


def split(text: str, *, reason: str = "stop") -> tuple[str, str]:
    """Split a text that comes in words: the steps and the answer."""

    def pieces() -> Iterator[str | Reasoning | Finish]:
        yield from re.findall(r"\S+|\s", text)
        yield Finish(reason)

    parts = list(split_steps(pieces()))
    assert isinstance(parts[-1], Finish)
    assert [type(part) for part in parts].count(Finish) == 1
    steps = [part.text for part in parts if isinstance(part, Reasoning)]
    return "".join(steps), "".join(part for part in parts if isinstance(part, str))


@pytest.mark.parametrize(
    "line",
    ["### Answer", "**Answer:**", "Final answer", "answer:", "### 答案", "最终答案：", "【回答】"],
)
def test_a_line_begins_the_answer_however_it_is_written(line: str) -> None:
    assert split(f"Source 1 says 25.\nSo 25.\n\n{line}\n\n25 days [1].\nIn all.") == (
        "Source 1 says 25.\nSo 25.", "25 days [1].\nIn all.",
    )  # fmt: skip


def test_the_first_such_line_counts() -> None:
    assert split("a\n### Answer\nb\n### Answer\nc") == ("a", "b\n### Answer\nc")


def test_a_word_within_a_line_begins_nothing() -> None:
    text = "The answer is here.\nAnswers vary.\nAnswer the phone.\n### Answer\nyes"
    assert split(text)[1] == "yes"


def test_without_such_a_line_the_last_word_with_a_colon_does() -> None:
    assert split("Answer: maybe?\nIt says 25.\n**Answer**: 25 days [1].") == (
        "Answer: maybe?\nIt says 25.", "25 days [1].",
    )  # fmt: skip
    assert split("资料一说25天。\n答案：25天[1]。") == ("资料一说25天。", "25天[1]。")


def test_without_any_mark_the_whole_is_the_answer() -> None:
    assert split("25 days [1].") == ("", "25 days [1].")
    assert split("") == ("", "")


def test_a_line_with_nothing_behind_it_begins_no_answer() -> None:
    assert split("It says 25.\n### Answer") == ("It says 25.", "")
    assert split("It says 25.\n### Answer\n\n") == ("It says 25.", "")


def test_steps_that_are_cut_off_are_no_answer() -> None:
    assert split("First, source 1", reason="length") == ("First, source 1", "")


def test_the_answer_streams() -> None:
    def pieces() -> Iterator[str | Reasoning | Finish]:
        yield from ("a\n### Ans", "wer\n2", "5", " days")
        yield Finish("stop")

    assert list(split_steps(pieces())) == [Reasoning("a"), "2", "5", " days", Finish("stop")]
