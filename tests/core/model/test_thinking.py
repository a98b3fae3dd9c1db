"""Thinking is told from the answer, wherever the pieces are cut."""

from collections.abc import Sequence

import pytest

from ragkit.model.thinking import Thinking
from ragkit.types import Reasoning


def split(pieces: Sequence[str]) -> tuple[str, str, bool]:
    thinking = Thinking()
    parts = [part for piece in pieces for part in thinking.feed(piece)] + list(thinking.end())
    assert all(parts)
    text = "".join(part for part in parts if isinstance(part, str))
    return text, "".join(p.text for p in parts if isinstance(p, Reasoning)), thinking.stray


CASES = [
    ("a <think> b", ("a <think> b", "", False)),
    ("<think>x</think> y", ("y", "x", False)),
    ("\n<think>\n</think> <think>a</think>It is", ("It is", "\na", False)),
    ("<thi", ("<thi", "", False)),
    ("<thinly veiled", ("<thinly veiled", "", False)),
    ("<think>never ends", ("", "never ends", False)),
    ("<think>a </thin b", ("", "a </thin b", False)),
    ("<think>1 </ 2 </think>3", ("3", "1 </ 2 ", False)),
    (" \nz ", ("z ", "", False)),
    ("", ("", "", False)),
    ("Hm.</think>Yes", ("Hm.</think>Yes", "", True)),
    ("<think>思考</think>答案", ("答案", "思考", False)),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_whole_by_character_and_at_every_cut(text: str, expected: tuple[str, str, bool]) -> None:
    assert split([text]) == expected
    assert split(list(text)) == expected
    for cut in range(len(text)):
        assert split([text[:cut], text[cut:]]) == expected


def test_reasoning_told_apart_passes_as_it_is() -> None:
    assert list(Thinking().feed(Reasoning("<think>"))) == [Reasoning("<think>")]
