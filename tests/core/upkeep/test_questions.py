"""Files of questions, a line each: what ends a line, and what is said of one that is no use."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragkit.errors import NotFoundError, UsageError
from ragkit.upkeep.calibrate import read_labelled
from ragkit.upkeep.compare_spaces import labelled
from ragkit.upkeep.questions import read_lines, read_row
from ragkit.upkeep.recall import read_questions

READERS = [read_labelled, labelled, read_questions]
# What str.splitlines() takes for a line's end and JSON does not (RFC 8259, section 7).
INSIDE = "one\u2028two\u2029three\u0085four"


@pytest.mark.parametrize("reader", READERS)
def test_only_a_line_feed_ends_a_line(tmp_path: Path, reader: Callable[[Path], list[Any]]) -> None:
    file = tmp_path / "questions.jsonl"
    rows = f'{{"question": "{INSIDE}", "answers": ["x"]}}\r\n{{"question": "b", "answers": ["x"]}}'
    file.write_bytes(b"\xef\xbb\xbf" + rows.encode())
    read = reader(file)
    texts = [getattr(one, "question", getattr(one, "text", one)) for one in read]
    assert texts == [INSIDE, "b"]


def test_lines_say_where_they_stand_and_blank_ones_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "questions.txt"
    file.write_bytes("\ufeff\n  \r\n a\x0cb \r\nc".encode())
    assert read_lines(file) == [(f"{file}:3", "a\x0cb"), (f"{file}:4", "c")]


@pytest.mark.parametrize("reader", [*READERS, read_lines])
def test_what_is_not_utf_8_is_named_by_its_line(
    tmp_path: Path, reader: Callable[[Path], object]
) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_bytes(b"\xef\xbb\xbfa\nb\n\xff")
    with pytest.raises(UsageError, match=r"questions\.jsonl:3: not UTF-8: save it as UTF-8"):
        reader(file)


@pytest.mark.parametrize("reader", [*READERS, read_lines])
@pytest.mark.parametrize("name", ["none.jsonl", "."])
def test_what_cannot_be_read_is_named(
    tmp_path: Path, reader: Callable[[Path], object], name: str
) -> None:
    with pytest.raises(NotFoundError, match=r"cannot be read: .*: name a file"):
        reader(tmp_path / name)


@pytest.mark.parametrize("line", ["{", "{" * 9, "[" * 100_000, '{"question": "a"} b'])
def test_a_line_that_is_not_json_is_named(line: str) -> None:
    with pytest.raises(UsageError, match=r"^q:7: not JSON: [^\n]+$"):
        read_row("q:7", line)
