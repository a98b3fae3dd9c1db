"""Answers are measured where the questions say what answers them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragkit_tune.proof.measure import _has_answers

ANSWERED = {"question": "a", "answers": ["b"], "answerable": True}
PASSAGE_ALONE = {"question": "a", "answerable": True}
UNANSWERABLE = {"question": "a", "answerable": False}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([ANSWERED, UNANSWERABLE], True),
        ([ANSWERED, PASSAGE_ALONE], False),
        ([PASSAGE_ALONE, UNANSWERABLE], False),
        ([UNANSWERABLE], False),
    ],
)
def test_each_question_has_an_answer_or_none_at_all(
    tmp_path: Path, rows: list[dict[str, Any]], expected: bool
) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    assert _has_answers(file) is expected
