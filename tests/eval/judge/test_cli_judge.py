"""`ragkit eval judge-check` as a user types it, with a judge of one's own."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ragkit.errors import UsageError
from ragkit_eval.judge.labelled import read_labelled_answers
from tests.commands import run

JUDGES = """
from ragkit_eval.judge import ParseFailure, Verdict

class Judge:
    dimension = "correctness"
    signature = "judge|by:words|v:1"

    def judge(self, question, answer, passages, references):
        if "?" in answer:
            return ParseFailure("I wonder \\x1b[31m.", "it is not JSON")
        return Verdict(float(answer in references), "It is one of them, or not.")

def words(settings):
    return Judge()
"""

COMMAND = ("eval", "judge-check", "labelled.jsonl")


def _row(number: int, **changed: Any) -> str:
    right = number % 2 == 0
    row = {
        "question": f"How much is {number} and 1?",
        "answer": str(number + 1) if right else "nothing",
        "references": [str(number + 1)],
        "label": right,
        "group": str(number // 2),
    }
    return json.dumps(row | changed)


class Check:
    """Run the command in a folder that has judges."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "judges_of_mine.py").write_text(JUDGES, encoding="utf-8")

    def __call__(self, *rows: str, options: tuple[str, ...] = (), code: int = 0) -> tuple[str, str]:
        (self.folder / "labelled.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
        home = {"RAGKIT_HOME": str(self.folder / "home")}
        judge = () if "--judge" in options else ("--judge", "judges_of_mine:words")
        result = run(*COMMAND, *judge, *options, folder=self.folder, environment=home)
        assert result.returncode == code, (result.stdout, result.stderr)
        return result.stdout, result.stderr


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "judges_of_mine", raising=False)
    return Check(tmp_path)


def test_a_judge_that_agrees_is_usable_and_kept(check: Check) -> None:
    rows = [_row(n) for n in range(60)]
    out, _ = check(*rows, options=("--json", "--out", "mine.json"))
    printed = json.loads(out)
    assert printed["usable"] is True
    assert printed["signature"] == "judge|by:words|v:1"
    assert printed["agreement"]["kappa"]["mean"] == 1.0
    assert printed["agreement"]["clusters"] == 30
    assert printed["data"]["name"] == "labelled.jsonl"
    certificate = json.loads(Path(printed["kept"]).read_text(encoding="utf-8"))
    assert certificate == json.loads((check.folder / "mine.json").read_text(encoding="utf-8"))
    assert certificate == {name: printed[name] for name in certificate}


def test_what_is_against_a_judge_is_said(check: Check) -> None:
    rows = [_row(0, label=False), *(_row(n) for n in range(1, 20)), _row(21, answer="Is it so?")]
    out, _ = check(*rows)
    assert "21 answers, 9 labelled right, 11 groups" in out
    assert "1 answers are judged otherwise by half or more" in out
    assert "people 0, judge 1: It is one of them, or not." in out
    assert "1 replies could not be read, such as\n  How much is 21 and 1?\n" in out
    assert "it is not JSON: I wonder \ufffd[31m." in out
    assert "Usable as a gate: no\n  answers: 21, must be at least 50" in out
    assert "answers of the rarer label: 9, must be at least 10" in out


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", "labelled.jsonl:2: not JSON"),
        ("[]", "labelled.jsonl:2: not a JSON object"),
        (_row(1, label=1.5), 'labelled.jsonl:2: the "label" is 1.5: write true, false or a number'),
        (_row(1, label=None), 'labelled.jsonl:2: the "label" is missing'),
        (_row(1, references=[" "]), 'labelled.jsonl:2: correctness is judged by "references"'),
        (_row(1, question=" "), "labelled.jsonl:2: the question is blank"),
        (_row(1, answer=3), "labelled.jsonl:2: 'answer' must be a text"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(tmp_path: Path, row: str, message: str) -> None:
    path = tmp_path / "labelled.jsonl"
    path.write_text(f"{_row(0)}\n{row}\n", encoding="utf-8-sig")
    with pytest.raises(UsageError) as error:
        read_labelled_answers(path, "correctness")
    assert message in str(error.value)


def test_mistakes_are_one_line(check: Check) -> None:
    _, message = check("", code=2)
    assert (
        message
        == "ragkit: labelled.jsonl is empty: write labelled answers, one JSON object a line\n"
    )
    _, message = check(_row(0), options=("--judge", "llm"), code=2)
    assert "needs a language model: set RAGKIT_LLM_URL" in message
    assert len(message.splitlines()) == 1
    assert not (check.folder / "home").exists()


def test_quality_needs_neither_references_nor_passages(tmp_path: Path) -> None:
    path = tmp_path / "labelled.jsonl"
    path.write_text('{"question": "A haiku?", "answer": "Snow falls.", "label": 0.5}\n', "utf-8")
    (answer,) = read_labelled_answers(path, "quality")
    assert (answer.label, answer.references, answer.passages) == (0.5, (), ())
