"""The examples of the two how-to pages are what the programs read and run."""

import re
from pathlib import Path

import pytest

from ragkit.settings.settings import Settings
from ragkit_eval.judge import Verdict, open_judge
from ragkit_eval.judge.labelled import read_labelled_answers
from ragkit_eval.sets import read_set
from tests.places import ROOT

HOWTO = ROOT / "docs" / "howto"


def _blocks(page: str, kind: str) -> list[str]:
    return re.findall(
        rf"```{kind}\n(.*?)```", (HOWTO / page).read_text(encoding="utf-8"), re.DOTALL
    )


def test_the_labelled_answers_can_be_read(tmp_path: Path) -> None:
    (block,) = _blocks("judge.md", "json")
    path = tmp_path / "labelled.jsonl"
    path.write_text(block, encoding="utf-8")
    answers = read_labelled_answers(path, "correctness")
    assert [answer.label for answer in answers] == [1.0, 0.0, 0.5]
    assert answers[2].cluster == "badges"


def test_the_judge_of_ones_own_judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = _blocks("judge.md", "python")
    (tmp_path / "judges_of_the_page.py").write_text(block, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    judge = open_judge("judges_of_the_page:exact", Settings(home=tmp_path))
    assert judge.judge("q", " 26 days ", [], ["26 days"]) == Verdict(
        1.0, "compared letter by letter"
    )
    assert judge.signature == "judge|exact|v:1|unchecked"


def test_the_line_of_a_labelled_set_can_be_read(tmp_path: Path) -> None:
    (block,) = _blocks("testset.md", "json")
    path = tmp_path / "set.jsonl"
    path.write_text(block, encoding="utf-8")
    (question,) = read_set(path).questions
    assert question.answers == ("36米",)
    assert (question.excerpts[0].start, question.excerpts[0].end) == (211, 242)
