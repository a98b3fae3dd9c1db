"""A gate passes what is shown not to be worse, fails what is, and says when it cannot tell."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from ragkit.errors import UsageError
from ragkit_eval.cli.main import app
from ragkit_eval.compare.compare import compare
from ragkit_eval.compare.gate import gate
from ragkit_eval.run.record import read_run
from ragkit_eval.tasks.scorers.bias import BiasScorer
from tests.eval.runs import TASK, records, run_of, write_run

BASE = [1.0] * 80 + [0.0] * 20
SAME = [1.0] * 79 + [0.0] * 20 + [1.0]
WORSE = [1.0] * 40 + [0.0] * 60
FEW = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("candidate", "margin", "outcome", "code"),
    [
        (BASE, 0.0, "pass", 0),
        (SAME, 0.05, "pass", 0),
        (SAME, 0.01, "inconclusive", 1),
        (WORSE, 0.05, "regression", 1),
        (WORSE, 0.6, "pass", 0),
        ([1.0] * 100, 0.0, "pass", 0),
    ],
)
def test_the_interval_against_the_margin_decides(
    tmp_path: Path, candidate: Sequence[float], margin: float, outcome: str, code: int
) -> None:
    a, b = (
        run_of(tmp_path / f"{n}.jsonl", values) for n, values in (("a", BASE), ("b", candidate))
    )
    judged = gate(a, b, {"acc": margin})
    assert (judged.outcome, judged.exit_code) == (outcome, code)


def test_what_cannot_be_told_passes_only_when_allowed(tmp_path: Path) -> None:
    a, b = (
        run_of(tmp_path / f"{n}.jsonl", v) for n, v in (("a", FEW), ("b", [0.0, 1.0, *FEW[2:]]))
    )
    assert gate(a, b, {"acc": 0.02}).exit_code == 1
    assert gate(a, b, {"acc": 0.02}, allow_inconclusive=True).exit_code == 0
    one, other = (run_of(tmp_path / f"{n}.jsonl", [1.0]) for n in ("one", "other"))
    assert gate(one, other, {"acc": 0.5}).outcome == "inconclusive"


def test_each_metric_and_task_must_pass(tmp_path: Path) -> None:
    def several(path: Path, values: Sequence[float]) -> Path:
        items = [
            replace(item, scores={"acc": 1.0, "f1": v})
            for item, v in zip(records([1.0] * len(values)), values, strict=True)
        ]
        return write_run(path, items)

    from ragkit_eval.run.record import read_run

    a, b = several(tmp_path / "a.jsonl", BASE), several(tmp_path / "b.jsonl", WORSE)
    judged = gate(read_run(a), read_run(b), {"acc": 0.0, "f1": 0.1})
    assert [check.outcome for check in judged.checks] == ["pass", "regression"]
    assert judged.outcome == "regression"


def test_runs_that_are_not_whole_or_full_of_errors_are_unusable(tmp_path: Path) -> None:
    from ragkit_eval.run.record import read_run

    tasks = [replace(TASK, items=100)]
    a = read_run(write_run(tmp_path / "a.jsonl", records(BASE), tasks=tasks))
    half = read_run(write_run(tmp_path / "half.jsonl", records(BASE[:50]), tasks=tasks))
    judged = gate(a, half, {"acc": 0.9})
    assert (judged.outcome, judged.exit_code) == ("unusable", 2)
    assert judged.problems[0].startswith(
        "half has outcomes of 50 of 100 items of quiz, and at least"
    )
    assert gate(a, half, {"acc": 0.9}, min_coverage=0.5).outcome == "pass"
    failing = run_of(tmp_path / "failing.jsonl", [*BASE[:95], *[None] * 5])
    # Errors in the baseline would make the gate lax.
    for runs in ((a, failing), (failing, a)):
        assert gate(*runs, {"acc": 0.9}).problems == (
            "failing has 5 errors in 100 items of quiz, and at most 1.0% are allowed: run it again",
        )
    assert gate(a, failing, {"acc": 0.9}, max_errors=0.05).outcome == "pass"


def _gate(tmp_path: Path, candidate: Path, *options: str) -> Result:
    baseline = write_run(tmp_path / "a.jsonl", records(BASE))
    command = ["gate", "--baseline", str(baseline), "--candidate", str(candidate), *options]
    return CliRunner().invoke(app, command)


def test_the_command_ends_with_the_outcomes_code_and_writes_for_ci(tmp_path: Path) -> None:
    worse = write_run(tmp_path / "b.jsonl", records(WORSE), name="b\x01<&|")
    junit, summary = tmp_path / "junit.xml", tmp_path / "gate.md"
    files = ("--junit", str(junit), "--markdown", str(summary))
    said = _gate(tmp_path, worse, "--metric", "acc", "--max-drop", "0.05", *files)
    assert said.exit_code == 1, said.output
    assert "regression: acc of quiz: a 0.800, b�<&| 0.400, difference -0.400" in said.output
    assert said.output.endswith("it dropped by more than 0.05\nGate failed: a regression.\n")
    suite = ElementTree.parse(junit).getroot()
    assert (suite.tag, suite.get("tests"), suite.get("failures"), suite.get("errors")) == (
        "testsuite",
        "1",
        "1",
        "0",
    )
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.get("type") == "regression"
    assert summary.read_text().startswith("### Gate failed: a regression.\n\n| | task |")
    passed = _gate(tmp_path, worse, "--metric", "acc=0.6", "--junit", str(junit), "--json")
    assert passed.exit_code == 0
    assert json.loads(passed.output)["outcome"] == "pass"
    assert ElementTree.parse(junit).getroot().find("testcase/system-out") is not None


def test_unusable_runs_are_told_to_ci_as_well(tmp_path: Path) -> None:
    junit = tmp_path / "junit.xml"
    other = write_run(
        tmp_path / "b.jsonl", records(BASE), tasks=[replace(TASK, items=100, data_hash="new")]
    )
    said = _gate(tmp_path, other, "--metric", "acc=0.1", "--junit", str(junit))
    assert said.exit_code == 2
    assert "unusable: " in said.output
    assert "data_hash data and new" in said.output
    error = ElementTree.parse(junit).getroot().find("testcase/error")
    assert error is not None
    assert error.get("type") == "unusable"
    assert _gate(tmp_path, tmp_path / "none.jsonl", "--metric", "acc=0.1").exit_code == 2
    assert _gate(tmp_path, other, "--metric", "acd=0.1").exit_code == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--metric", "acc"], "Give --max-drop, or --metric acc=0.02"),
        (["--metric", "acc=much"], "'much' is not a number"),
        (["--metric", "acc=0.1", "--metric", "acc=0.2"], "acc has two margins: name it once"),
        (["--metric", "acc=0.1", "--junit", "/nowhere/x.xml"], "its folder does not exist"),
    ],
)
def test_slips_are_one_line(tmp_path: Path, options: list[str], said: str) -> None:
    judged = _gate(tmp_path, tmp_path / "a.jsonl", *options)
    assert isinstance(judged.exception, UsageError)
    assert said in str(judged.exception)


def test_runs_of_errors_alone_are_unusable_and_the_error_is_told(tmp_path: Path) -> None:
    a, b = (run_of(tmp_path / name, [None] * 9) for name in ("x.jsonl", "y.jsonl"))
    judged = gate(a, b, {"acc": 0.1})
    assert judged.exit_code == 2
    assert "every item ended in an error, the first as 'the server failed'" in judged.problems[0]


def test_a_negative_margin_is_no_margin(tmp_path: Path) -> None:
    judged = _gate(tmp_path, tmp_path / "a.jsonl", "--metric", "acc=-0.1")
    assert judged.exit_code == 2
    assert "a drop of -0.1 in acc makes no sense" in judged.output


@pytest.mark.parametrize(
    ("end", "code"),
    [("checked:kappa=0.71,n=120", 0), ("failed:kappa=0.2,n=120", 2), ("unchecked", 2)],
)
def test_a_judge_decides_only_when_it_was_checked(tmp_path: Path, end: str, code: int) -> None:
    task = replace(TASK, items=100, metric="judge", metrics={"judge": f"judge|model:m|v:1|{end}"})
    runs = [
        read_run(write_run(tmp_path / f"{n}.jsonl", records(BASE, metric="judge"), tasks=[task]))
        for n in "ab"
    ]
    judged = gate(runs[0], runs[1], {"judge": 0.05})
    assert judged.exit_code == code
    assert bool(judged.problems) == (code == 2)
    assert all("judge-check" in problem for problem in judged.problems)


def test_a_bias_has_no_better_end_and_is_refused(tmp_path: Path) -> None:
    signature = BiasScorer("letter").metrics["bias_ambiguous"]
    task = replace(TASK, items=4, metric="acc", metrics={"bias_ambiguous": signature})
    runs = [
        read_run(
            write_run(
                tmp_path / f"{name}.jsonl",
                records([value, -1.0, 1.0, 0.0], metric="bias_ambiguous"),
                tasks=[task],
            )
        )
        for name, value in (("a", 1.0), ("b", 0.0))
    ]
    judged = gate(runs[0], runs[1], {"bias_ambiguous": 0.05})
    assert judged.problems == ("bias_ambiguous has no better end, 0 is best: gate by acc instead",)
    assert judged.exit_code == 2
    compared = compare(runs, ["bias_ambiguous"])
    assert (compared.rows[0].a.mean, compared.rows[0].b.mean) == (0.25, 0.0)
    assert compared.notes == (
        "bias_ambiguous: 0 is best, and 'better' says no more than that the value is higher",
    )
