"""The self-test reproduces every oracle, and a metric that is wrong does not pass it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ragkit.cli import app
from ragkit_eval.item import Scored
from ragkit_eval.retrieval import evaluate_run
from ragkit_eval.selftest import answers, retrieval, selftest, tasks, texts
from ragkit_eval.selftest.check import agreement
from ragkit_eval.tasks.scorers.choice import ChoiceScorer

runner = CliRunner()


@pytest.mark.slow
def test_everything_is_reproduced(data: Path) -> None:
    checks = list(selftest(data))
    assert [check for check in checks if check.passed is False] == []
    assert [check.subject for check in checks if check.passed is None] == ["humaneval, sandbox"]
    assert len(checks) == 22


@pytest.mark.slow
def test_humaneval_is_reproduced(data: Path) -> None:
    (check,) = tasks.humaneval(data)
    assert (check.expected, check.passed) == ("328 values exactly", True)


def test_without_data_the_rest_is_checked_and_said_to_be_left_out() -> None:
    checks = list(selftest(None))
    assert {check.passed for check in checks} == {True, None}
    assert sum(check.passed is None for check in checks) == 7


def test_a_folder_without_oracles_leaves_them_out(tmp_path: Path) -> None:
    reasons = [check.reproduced for check in selftest(tmp_path) if check.passed is None]
    assert f"no oracles/rouge155 in {tmp_path}" in reasons


def test_a_wrong_retrieval_metric_fails(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def without_ties(qrels, run, names, **options):  # type: ignore[no-untyped-def]
        cut = {query: dict(list(found.items())[1:]) for query, found in run.items()}
        return evaluate_run(qrels, cut, names, **options)

    monkeypatch.setattr(retrieval, "evaluate_run", without_ties)
    checks = list(retrieval.checks(data / "oracles/trec_eval"))
    assert [check.passed for check in checks] == [False, False]


def test_a_metric_that_scores_everything_alike_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    class Always:
        def item(self, prediction: str, references: object) -> float:
            return 1.0

    monkeypatch.setattr(texts, "text_metric", lambda name: Always())
    assert not any(check.passed for check in texts.checks())


def test_citations_that_are_believed_blindly_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "citation_recall", lambda answer: 1.0)
    failed = [check.subject for check in answers.checks() if not check.passed]
    assert failed == ["answers, en", "answers, zh"]


def test_values_that_are_missing_or_off_fail_and_are_named() -> None:
    check = agreement("m", "o", {"a": 1.0, "b": 2.0}, {"a": 1.0}, within=0)
    assert (check.passed, check.reproduced) == (False, "1 of 2, b: nothing for 2")
    check = agreement("m", "o", {"a": 1.0, "b": 2.0}, {"a": 1.0, "b": 2.5}, within=0.1, share=0.5)
    assert (check.passed, check.reproduced) == (True, "1 of 2, b: 2.5 for 2")
    assert not agreement("m", "o", {}, {}, within=0).passed


def test_the_command_prints_a_table_and_json() -> None:
    result = runner.invoke(app, ["eval", "selftest"])
    assert result.exit_code == 0, result.output
    assert "pass" in result.stdout
    assert "left out" in result.stdout
    as_json = runner.invoke(app, ["eval", "selftest", "--json"])
    first = json.loads(as_json.stdout)["checks"][0]
    assert first["oracle"] == "worked out by hand"
    assert first["passed"] is True


def test_the_command_fails_with_a_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "language_match", lambda question, text: True)
    result = runner.invoke(app, ["eval", "selftest"])
    assert result.exit_code == 1
    assert "FAIL" in result.stdout


def test_oracles_that_cannot_be_read_fail_and_the_others_are_checked(tmp_path: Path) -> None:
    for name in ("oracles/rouge155", "oracles/trec_eval", "tasks/mmlu"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "oracles/trec_eval/qrels.test").write_bytes(b"\xff")
    checks = {check.subject: check for check in selftest(tmp_path)}
    broken = {subject for subject, check in checks.items() if check.passed is False}
    assert broken == {"ROUGE", "retrieval metrics", "mmlu"}
    assert "No such file" in checks["ROUGE"].reproduced
    assert "qrels.test:1: is not UTF-8" in checks["retrieval metrics"].reproduced
    assert checks["character spans"].passed is True


def test_a_scorer_that_believes_everything_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tasks.scorers().passed is True
    always = Scored("B", {"acc": 1.0})
    monkeypatch.setattr(ChoiceScorer, "score", lambda self, item, response: always)
    assert "not letter" in tasks.scorers().reproduced
    assert tasks.scorers().passed is False
