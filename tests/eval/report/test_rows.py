"""The CSV: read back as it was written, and harmless in a spreadsheet."""

from __future__ import annotations

import csv as reader
import io
from pathlib import Path

import pytest

from ragkit_eval.report import csv
from ragkit_eval.run.record import Record, Run
from tests.eval.report import runs
from tests.eval.report.conftest import slim


def rows(text: str) -> list[dict[str, str]]:
    return list(reader.DictReader(io.StringIO(text, newline="")))


def test_one_row_per_run_and_item_with_scores_at_full_precision(answer_runs: list[Run]) -> None:
    read = rows(csv(answer_runs))
    assert len(read) == 2 * 60
    assert [row["run"] for row in read] == ["extractive"] * 60 + ["written"] * 60
    for row, record in zip(read, answer_runs[0].records, strict=False):
        assert row["id"] == record.id
        assert float(row["answer_score"]) == record.scores["answer_score"]
        assert row["ndcg@10"] == str(record.scores.get("ndcg@10", ""))
        assert float(row["latency_s"]) == record.latency_s
    assert read[1]["output"] in (
        "每年享有12天带薪年假[1]。",
        "自2026年起，每年享有8天带薪年假[1]。",
    )


@pytest.mark.parametrize(
    "text",
    [
        "=cmd|' /C calc'!A0",
        "+1",
        "-1",
        "@SUM(1)",
        "\t=1",
        " =1",
        "\n=1",
        "＝1",
        "＠x",
        "'quoted",
        "'=1",
        'a, "b"\nc;d',
        "plain",
        "",
        "中文，逗号",
    ],
)
def test_text_comes_back_and_is_no_formula(tmp_path: Path, text: str) -> None:
    record = runs.graded("mmlu", "1", 0.5, output=text, targets=(text,), prediction=text)
    path = runs.write(tmp_path / "r.jsonl", runs.header(items=1), [record])
    (row,) = rows(csv(slim(path)))
    for cell in (row["output"], row["targets"], row["prediction"]):
        assert cell.removeprefix("'") == text
        assert cell.strip()[:1] not in tuple("=+-@＝＋－＠") or not cell.strip()


def test_names_of_runs_tasks_groups_and_metrics_are_no_formulas_either(tmp_path: Path) -> None:
    bad = "=1+1"
    record = Record(bad, bad, "k", "ok", group=bad, cluster=bad, question=bad, scores={bad: 1.0})
    path = runs.write(tmp_path / "r.jsonl", runs.header(items=1, name=bad, task=bad), [record])
    assert "=1+1" not in csv(slim(path)).replace("'=1+1", "")


def test_last_record_of_an_item_counts_and_an_error_has_no_scores(tmp_path: Path) -> None:
    records = [
        Record(task="mmlu", id="1", key="k", status="error", error="timeout"),
        runs.graded("mmlu", "2", 1.0),
        runs.graded("mmlu", "1", 0.25),
        Record(task="mmlu", id="2", key="k", status="error", error="refused"),
    ]
    path = runs.write(tmp_path / "r.jsonl", runs.header(items=2), records)
    read = rows(csv(slim(path)))
    assert [(row["id"], row["acc"], row["error"]) for row in read] == [
        ("1", "0.25", ""),
        ("2", "", "refused"),
    ]
