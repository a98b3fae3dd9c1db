"""The self-test reproduces every oracle, and a metric that is wrong does not pass it."""

import gzip
import json
from itertools import islice
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ragkit.cli.main import app
from ragkit_eval.retrieval import evaluate_run
from ragkit_eval.run.item import Scored
from ragkit_eval.selftest import answers, retrieval, selftest, tasks, texts
from ragkit_eval.selftest.check import agreement
from ragkit_eval.tasks.scorers.bias import BiasScorer
from ragkit_eval.tasks.scorers.choice import ChoiceScorer

runner = CliRunner()
SYSTEM = "newstest2017.LMU-nmt-single.4893.en-de"


@pytest.fixture(scope="module")
def part(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the small oracles whole, and of the others what is checked in a second or two:
    one system of machine translation, three subjects of MMLU, four problems of HumanEval.
    """
    folder = tmp_path_factory.mktemp("data")
    for name in ("oracles/wmt17", "tasks/mmlu/test", "tasks/humaneval"):
        (folder / name).mkdir(parents=True)
    for name in (
        *("oracles/rouge155", "oracles/trec_eval", "oracles/bbh_direct", "oracles/gsm8k"),
        *("tasks/bbh", "tasks/gsm8k", "tasks/mmlu/dev"),
        *(f"tasks/mmlu/test/{name}_test.csv" for name in ("anatomy", "astronomy", "virology")),
    ):
        (folder / name).symlink_to(data / name)
    _one_system(data / "oracles/wmt17", folder / "oracles/wmt17")
    with gzip.open(data / "tasks/humaneval/HumanEval.jsonl.gz", "rt", encoding="utf-8") as lines:
        problems = "".join(islice(lines, 4))
    (folder / "tasks/humaneval/HumanEval.jsonl").write_text(problems, encoding="utf-8")
    return folder


def _one_system(source: Path, target: Path) -> None:
    """Copy the translations and p-values of one system and the baseline."""
    golden = json.loads((source / "golden_p_values.json").read_text(encoding="utf-8"))
    for name, values in golden.items():
        if "samples)" in name or "trials)" in name:
            golden[name] = {SYSTEM: values[SYSTEM]}
    (target / "golden_p_values.json").write_text(json.dumps(golden), encoding="utf-8")
    translations = "wmt17_en_de_systems.json.gz"
    with gzip.open(source / translations, "rt", encoding="utf-8") as file:
        read = json.load(file)
    read["systems"] = {name: read["systems"][name] for name in (golden["baseline"], SYSTEM)}
    with gzip.open(target / translations, "wt", encoding="utf-8", compresslevel=1) as file:
        json.dump(read, file)


def test_part_of_the_data_is_reproduced(part: Path) -> None:
    checks = list(selftest(part, execute_code=True))
    assert [check for check in checks if not check.passed] == []
    assert len(checks) == 23
    expected = {check.subject: check.expected for check in checks}
    assert expected["paired bootstrap"] == "1 values within 0.01"
    assert expected["humaneval, sandbox"] == "8 values exactly"


def test_programs_are_run_only_where_it_is_allowed(
    part: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragkit_eval.selftest._WITH_DATA", ())  # made by the test above
    reasons = [check.reproduced for check in selftest(part) if check.passed is None]
    assert reasons == ["runs programs: allow it with --execute-code"]


@pytest.mark.long
def test_everything_is_reproduced(data: Path) -> None:
    checks = list(selftest(data, execute_code=True))
    assert [check for check in checks if not check.passed] == []
    assert len(checks) == 23
    expected = {check.subject: check.expected for check in checks}
    assert expected["humaneval, sandbox"] == "328 values exactly"


def test_without_data_the_rest_is_checked_and_said_to_be_left_out() -> None:
    checks = list(selftest(None))
    assert {check.passed for check in checks} == {True, None}
    assert sum(check.passed is None for check in checks) == 7


def test_a_folder_without_oracles_leaves_them_out(tmp_path: Path) -> None:
    reasons = [check.reproduced for check in selftest(tmp_path) if check.passed is None]
    assert f"no oracles/rouge155 in {tmp_path}" in reasons


def test_a_wrong_retrieval_metric_fails(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def without_ties(qrels, run, names, **options):  # type: ignore[no-untyped-def]
        cut = {query: dict(list(scores.items())[1:]) for query, scores in run.items()}
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


def test_a_bias_that_is_never_seen_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tasks.graded_scorers().passed is True
    neutral = Scored("B", {"acc": 1.0, "bias_ambiguous": 0.0, "bias_disambiguated": 0.0})
    monkeypatch.setattr(BiasScorer, "score", lambda self, item, response: neutral)
    check = tasks.graded_scorers()
    assert (check.passed, check.reproduced[:8]) == (False, "5 of 11,")


def test_a_refusal_that_is_never_seen_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragkit_eval.tasks.scorers.refusal.refuses", lambda text: False)
    assert tasks.scorers().passed is False
