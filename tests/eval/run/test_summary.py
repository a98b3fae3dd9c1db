"""What a run is summed up to."""

from pathlib import Path

import pytest

from ragkit_eval.run.record import Header, Record, Run, Status, TaskHeader
from ragkit_eval.run.summary import coverage_line, summarise, summary_json, summary_lines
from ragkit_eval.tasks.scorers.bias import BiasScorer


def record(number: int, status: Status, group: str, *, fallback: bool = False) -> Record:
    scores = {} if status == "error" else {"acc": float(status == "ok")}
    return Record("t", str(number), "k", status, scores=scores, group=group, fallback=fallback)


RUN = Run(
    Header((TaskHeader("t", "1", "letter", "acc", 6, "d", "p"),), {"name": "tiny"}),
    (
        record(0, "ok", "a"),
        record(1, "ok", "a", fallback=True),
        record(2, "wrong", "a"),
        record(3, "error", "b"),
        record(4, "ok", "b"),
    ),
    Path("run.jsonl"),
)


def test_errors_count_nothing_in_every_mean() -> None:
    summary = summarise(RUN)["t"]
    assert summary.scores["acc"].mean == pytest.approx(3 / 5)
    assert summary.scores["acc"].items == 5
    assert summary.scores["acc"].low < 0.6 < summary.scores["acc"].high
    assert {name: one.mean for name, one in summary.groups.items()} == {
        "a": pytest.approx(2 / 3),
        "b": 0.5,
    }
    assert summary.group_mean == pytest.approx((2 / 3 + 1 / 2) / 2)


def test_coverage_errors_and_fallbacks_are_told() -> None:
    summary = summarise(RUN)["t"]
    assert (summary.answered, summary.errors, summary.missing) == (4, 1, 1)
    assert summary.coverage == pytest.approx(4 / 6)
    assert summary.fallback == pytest.approx(1 / 4)
    assert coverage_line(summary) == ("t: 4 of 6 items answered (66.67%), 1 error, 1 not asked yet")


def test_a_run_of_errors_alone_scores_nothing() -> None:
    summary = summarise(Run(RUN.header, (record(0, "error", ""),), RUN.path))["t"]
    assert summary.scores["acc"].mean == 0.0
    assert (summary.fallback, summary.group_mean) == (0.0, None)


def test_a_run_of_nothing_has_no_score() -> None:
    summary = summarise(Run(RUN.header, (), RUN.path))["t"]
    assert (dict(summary.scores), summary.coverage, summary.missing) == ({}, 0.0, 6)


def test_the_table_has_tasks_and_groups() -> None:
    told = summary_lines(summarise(RUN))
    assert told[0].split() == "task metric score 95% interval items errors fallback".split()
    assert told[1].split()[:3] == ["t", "acc", "0.6000"]
    assert told[2].split() == ["mean", "of", "groups", "0.5833", "2"]
    assert [line.split()[0] for line in told[3:]] == ["a", "b"]


def test_the_json_has_the_same() -> None:
    told = summary_json(summarise(RUN)["t"])
    assert told["scores"]["acc"]["mean"] == 0.6
    assert told["groups"]["b"]["items"] == 2
    assert (told["coverage"], told["errors"], told["missing"]) == (0.666667, 1, 1)


def test_a_bias_of_one_passage_may_be_anything_from_minus_one_to_one() -> None:
    metrics = BiasScorer("letter").metrics
    header = Header((TaskHeader("t", "1", "letter", "acc", 2, "d", "p", metrics),), {"name": "m"})
    items = tuple(
        Record("t", str(n), "k", "ok", scores={"acc": 1.0, "bias_ambiguous": -1.0}, cluster="c")
        for n in range(2)
    )
    scores = summarise(Run(header, items, Path("run.jsonl")))["t"].scores
    assert (scores["bias_ambiguous"].mean, scores["bias_ambiguous"].low) == (-1.0, -1.0)
    assert scores["bias_ambiguous"].high > 0.9
    assert scores["acc"].high == 1.0
