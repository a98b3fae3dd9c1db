"""`ragkit eval report` as it is typed: files, standard output, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ragkit.errors import NotFoundError, UsageError
from ragkit_eval.cli.main import app
from tests.eval.report import runs


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(app, ["report", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_page_is_written_by_the_ending_and_says_what_it_left_out(
    choice_paths: Sequence[Path], tmp_path: Path
) -> None:
    out = tmp_path / "report.html"
    result = run(*choice_paths, "--out", out, "--items", 20, "--title", "A & B")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert result.stderr == f"{out}: 20 items shown, 460 left out\n"
    page = out.read_text("utf-8")
    assert '<h1 dir="auto">A &amp; B</h1>' in page
    assert page.count("<article") == 20
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"], "nothing else is left"


def test_all_items_are_shown_when_asked_for(answer_paths: Sequence[Path], tmp_path: Path) -> None:
    out = tmp_path / "r.htm"
    assert run(*answer_paths, "--out", out, "--items", "all").exit_code == 0
    assert out.read_text("utf-8").count("<article") == 60


def test_price_draws_quality_against_money(answer_paths: Sequence[Path], tmp_path: Path) -> None:
    out = tmp_path / "r.html"
    run(*answer_paths, "--out", out, "--price", "0/0", "--price", "0.15/0.6")
    page = out.read_text("utf-8")
    assert "answer_score against cost" in page
    assert "against tokens" not in page


def test_summary_is_printed_without_out(answer_paths: Sequence[Path]) -> None:
    result = run(*answer_paths)
    assert result.stdout.startswith("## Evaluation\n")


def test_csv_file_begins_with_a_byte_order_mark_and_standard_output_does_not(
    answer_paths: Sequence[Path], tmp_path: Path
) -> None:
    out = tmp_path / "r.csv"
    assert run(*answer_paths, "--out", out).stderr == f"{out}: 120 rows\n"
    assert out.read_bytes()[:7] == b"\xef\xbb\xbfrun,"
    printed = run(*answer_paths, "--format", "csv").stdout_bytes
    assert printed == out.read_bytes()[3:]


def test_format_wins_over_the_ending(answer_paths: Sequence[Path], tmp_path: Path) -> None:
    out = tmp_path / "report.txt"
    assert run(*answer_paths, "--out", out, "--format", "markdown").exit_code == 0
    assert out.read_text("utf-8").startswith("## Evaluation")


def test_json_holds_the_numbers_unrounded(choice_paths: Sequence[Path], tmp_path: Path) -> None:
    values = json.loads(run(*choice_paths, "--json").stdout)
    task = values["tasks"][0]
    assert [one["name"] for one in values["runs"]] == ["small", "large"]
    assert task["metrics"][0]["runs"][1]["expected"] == 480
    assert task["metrics"][0]["differences"][1]["verdict"] == "better"
    assert len(task["groups"]) == 12
    assert values["out"] is None
    out = tmp_path / "r.md"
    assert json.loads(run(*choice_paths, "--json", "--out", out).stdout)["out"] == str(out)
    assert out.exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--items", "many"], "--items many: not a number and not 'all'"),
        (["--items", "-1"], "--items -1"),
        (["--items", "٣"], "--items"),
        (["--price", "cheap"], "--price cheap: not the prices of a million tokens"),
        (["--price", "1/2/3"], "--price 1/2/3"),
        (["--price=-1/2"], "the prompt price is -1.0: it must be 0 or more"),
        (["--price", "nan/2"], "the prompt price is nan: it must be 0 or more"),
        (["--out", "report.pdf"], "report.pdf: the ending decides the format: use one of .html"),
        (["--out", "there/is/none.html"], "none.html cannot be written"),
    ],
)
def test_nonsense_is_refused_before_any_run_is_read(arguments: list[str], told: str) -> None:
    with pytest.raises(UsageError) as refused:
        run("missing.jsonl", *arguments)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_run_is_not_written_over(choice_paths: Sequence[Path]) -> None:
    with pytest.raises(UsageError, match="it is one of the runs"):
        run(choice_paths[0], "--out", choice_paths[0], "--format", "csv")


def test_runs_of_other_questions_and_files_that_are_no_runs_are_refused(
    choice_paths: Sequence[Path], answer_paths: Sequence[Path], tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="no task in common"):
        run(choice_paths[0], answer_paths[0])
    assert run(choice_paths[0], answer_paths[0], "--format", "csv").exit_code == 0
    with pytest.raises(NotFoundError, match=r"missing\.jsonl"):
        run(tmp_path / "missing.jsonl")
    bad = tmp_path / "bad.jsonl"
    bad.write_text("nonsense\n")
    with pytest.raises(UsageError, match=r"bad\.jsonl:1"):
        run(bad)


def test_failed_report_leaves_the_old_one(choice_paths: Sequence[Path], tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    out.write_text("old")
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(choice_paths[0].read_bytes() + b"{nonsense}\n")
    with pytest.raises(UsageError):
        run(torn, "--out", out)
    assert out.read_text() == "old"


def test_torn_last_line_is_left_out(tmp_path: Path) -> None:
    path = runs.write(tmp_path / "r.jsonl", runs.header(items=2), [runs.graded("mmlu", "1", 1.0)])
    with path.open("a") as file:
        file.write('{"type":"item","task":"mmlu","id":"2"')
    assert "| answered | 1 of 2, 0 errors |" in run(path).stdout
