"""The section on training: a verdict is written down as it is, and parts not run stay."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks import tuning, tuning_pruned
from benchmarks.tuning_home import part_of
from benchmarks.tuning_verdict import verdict_lines
from ragkit_eval.sets import LabelledSet, Question


def difference(name: str, mean: float) -> dict[str, Any]:
    return {
        "name": name,
        "measure": "ndcg@10",
        "items": 115,
        "clusters": 100,
        "a": 0.4,
        "b": 0.4 + mean,
        "mean": mean,
        "low": mean - 0.02,
        "high": mean + 0.02,
        "p": 0.0312,
    }


def test_a_verdict_that_is_bad_is_written_down_like_a_good_one() -> None:
    verdict = {
        "sentence": "worse by 0.030",
        "tried": 2,
        "main": difference("hybrid", -0.03),
        "reported": [difference("dense", 0.01)],
        "guards": [difference("handbook-en", 0.0)],
        "notes": ["guard fell"],
    }
    lines = list(verdict_lines(verdict))
    assert lines[1:] == [
        "| decides: hybrid, ndcg@10 | 115, 100 | 0.400 | 0.370 | -0.030 (-0.050 to -0.010) |"
        " 0.031 |",
        "| reported: dense, ndcg@10 | 115, 100 | 0.400 | 0.410 | +0.010 (-0.010 to +0.030) |"
        " 0.031 |",
        "| guard: handbook-en, ndcg@10 | 115, 100 | 0.400 | 0.400 | +0.000 (-0.020 to +0.020) |"
        " 0.031 |",
        "",
        "**Verdict: worse by 0.030**; 2 models were tried on these questions.",
        "\nGuard fell.",
    ]


def test_a_part_of_a_set_asks_about_its_own_documents() -> None:
    questions = [Question(f"q{n}", "When?", relevant={f"d{n % 4}": 1}) for n in range(12)]
    whole = LabelledSet("set", {f"d{n}": "text" for n in range(4)}, tuple(questions))
    part = part_of(whole, 2, documents=2)
    assert list(part.documents) == ["d0", "d1"]
    assert [question.id for question in part.questions] == ["q0", "q4", "q8"]
    assert part_of(whole, 1) == whole


def test_a_part_that_is_not_run_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BENCH_HOME", str(tmp_path))
    monkeypatch.setattr(tuning_pruned, "run", lambda _: [f"### {tuning_pruned.TITLE}", "", "New."])
    kept = f"### {tuning.TRAININGS['reranker'].title}\n\nAs it was.\n"
    before = f"{tuning.HEAD}\n### {tuning_pruned.TITLE}\n\nOld.\n\n{kept}"
    section = tuning.run(["pruned"], before)
    assert section == f"{tuning.HEAD}\n{kept}\n### {tuning_pruned.TITLE}\n\nNew.\n"


def test_an_unknown_part_is_named() -> None:
    with pytest.raises(SystemExit, match="no part named reanker: there are embedder-cranfield"):
        tuning.run(["reanker"])
