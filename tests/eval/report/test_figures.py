"""Numbers of a report: what they are computed over, and how they are written."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from ragkit.errors import UsageError
from ragkit_eval.answers import Prices
from ragkit_eval.compare.compare import Comparison, compare
from ragkit_eval.report import numbers
from ragkit_eval.report.figures import cell
from ragkit_eval.report.plots.lines import shares
from ragkit_eval.report.report import compared, report
from ragkit_eval.report.risk import risk_curve
from ragkit_eval.report.safe_text import Mark, Segment, segments
from ragkit_eval.report.speed import speed
from ragkit_eval.run.record import Record, Run
from ragkit_eval.run.summary import summarise
from tests.eval.report import runs
from tests.eval.report.conftest import slim


def test_groups_scores_and_fallback_are_those_of_the_runs_own_summary(
    choice_runs: list[Run],
) -> None:
    made = report(choice_runs, None)
    for n, run in enumerate(choice_runs):
        summary = summarise(run)["mmlu"]
        first = made.tasks[0].metrics[0].cells[n]
        assert first is not None
        assert first.interval.mean == summary.scores["acc"].mean
        assert first.interval.low == summary.scores["acc"].low
        assert (first.answered, first.errors) == (summary.answered, summary.errors)
        assert first.coverage == summary.coverage
        means = {row.name: row.cells[n] for row in made.tasks[0].groups}
        assert {name: c and c.interval.mean for name, c in means.items()} == {
            name: score.mean for name, score in summary.groups.items()
        }


def test_groups_differences_are_those_of_compare(
    choice_runs: list[Run], choice_comparison: Comparison
) -> None:
    comparison = choice_comparison
    made = report(choice_runs, comparison)
    tested = {row.group: row for row in comparison.groups}
    assert len(made.tasks[0].groups) == 12
    for row in made.tasks[0].groups:
        change = row.changes[1]
        assert change is not None
        assert change.interval == tested[row.name].difference
        assert change.p == tested[row.name].p_holm


def test_error_counts_nothing_in_every_metric_and_absent_values_do_not() -> None:
    records = [
        Record("t", "1", "", "ok", scores={"a": 1.0, "b": 0.5}),
        Record("t", "2", "", "ok", scores={"a": 1.0}),
        Record("t", "3", "", "error"),
    ]
    a, b = cell(records, "a"), cell(records, "b")
    assert a is not None
    assert b is not None
    assert (round(a.interval.mean, 6), a.items) == (0.666667, 3)
    assert (b.interval.mean, b.items) == (0.25, 2)
    assert cell(records[1:2], "b") is None


def test_risk_falls_to_the_whole_error_when_all_is_answered() -> None:
    scored = [(0.9, 1.0), (0.8, 1.0), (0.5, 0.0), (0.5, 1.0), (0.1, 0.0)]
    points = [(part, round(risk, 6)) for part, risk in risk_curve(scored)]
    # The two of equal confidence are given together.
    assert points == [(0.2, 0.0), (0.4, 0.0), (0.8, 0.25), (1.0, 0.4)]


def test_latency_is_that_of_answers_and_not_of_errors() -> None:
    records = [Record("t", str(n), "", "ok", latency_s=n / 10) for n in range(1, 11)]
    errors = [Record("t", "e", "", "error", latency_s=60.0)]
    found = speed(records + errors)
    assert found.seconds == (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    assert (found.times.p50, found.times.mean) == (0.55, 0.55)
    assert (found.tokens, found.thousand) == (None, None)
    assert speed(errors).times.p50 is None


def test_tokens_and_money_are_those_of_an_item() -> None:
    usage = [{"prompt_tokens": 900, "completion_tokens": 100}, {}]
    records = [Record("t", str(n), "", "ok", usage=one) for n, one in enumerate(usage)]
    found = speed(records, Prices(1.0, 10.0))
    assert found.tokens == 1000
    assert found.thousand is not None
    assert math.isclose(found.thousand, 1.9)  # 0.9 M at 1 and 0.1 M at 10


def test_runs_confidence_gives_a_curve_and_tags_give_slices(answer_runs: list[Run]) -> None:
    task = report(answer_runs, None).tasks[0]
    for one in task.risks:
        assert one is not None
        assert one.meaning == "answered, though the documents do not"
        assert one.points[-1] == (1.0, 0.25)  # a quarter of the questions has no answer
    assert {tag: [row.name for row in rows] for tag, rows in task.slices.items()} == {
        "language": ["en", "zh"],
        "answerable": ["yes", "no"],
    }


def test_risk_is_of_wrong_answers_where_all_questions_have_one(tmp_path: Path) -> None:
    records = [
        runs.graded("mmlu", str(n), float(n % 3 > 0), detail={"confidence": n / 9})
        for n in range(9)
    ]
    made = report(slim(runs.write(tmp_path / "r.jsonl", runs.header(items=9), records)), None)
    (found,) = made.tasks[0].risks
    assert found is not None
    assert found.meaning == "1 − mean score"
    assert found.points[0] == (1 / 9, 0.0)
    assert math.isclose(found.points[-1][1], 1 / 3)


def test_prices_are_one_for_all_runs_or_one_each(answer_runs: list[Run]) -> None:
    one, other = Prices(1, 1), Prices(2, 2)
    all_alike = report(answer_runs, None, prices=[one]).tasks[0].speeds
    each = report(answer_runs, None, prices=[one, other]).tasks[0].speeds
    first, second = (speed.thousand if speed else None for speed in all_alike)
    assert first is not None
    assert second is not None
    assert [speed and speed.thousand for speed in each] == [first, 2 * second]
    with pytest.raises(UsageError, match="3 prices for 2 runs"):
        report(answer_runs, None, prices=[one] * 3)


def test_groups_are_corrected_for_what_is_shown_alone(
    answer_runs: list[Run], answer_comparison: Comparison
) -> None:
    assert {row.metric for row in answer_comparison.groups} == {"answer_score"}
    assert answer_comparison.rows == compare(answer_runs).rows


def test_one_run_and_runs_of_errors_are_not_compared(tmp_path: Path) -> None:
    records = [Record("mmlu", "1", "k", "error", error="down")]
    run = slim(runs.write(tmp_path / "r.jsonl", runs.header(items=1), records))
    assert compared(run) is None
    assert compared(run * 2) is None


def test_last_record_of_an_item_counts(tmp_path: Path) -> None:
    records = [
        runs.graded("mmlu", "1", 0.0, output="old"),
        runs.graded("mmlu", "1", 1.0, output="n"),
    ]
    made = report(slim(runs.write(tmp_path / "r.jsonl", runs.header(items=1), records)), None)
    assert made.extracts[0].records["mmlu", "1"].record.output == "n"


def test_numbers_are_written_for_people() -> None:
    assert numbers.signed(-0.0001) == "0.000"
    assert numbers.signed(-0.25) == "−0.250"
    assert [numbers.share(part) for part in (1.0, 0.99999, 0.5, 0.00001, 0.0)] == [
        "100%",
        ">99.9%",
        "50.0%",
        "<0.1%",
        "0%",
    ]
    assert [numbers.seconds(value) for value in (0.0123, 0.9999, 12.345, 4321.0)] == [
        "12.3 ms",
        "1 s",
        "12.3 s",
        "4321 s",
    ]
    assert numbers.p_value(0.0004) == "p < 0.001"
    assert numbers.detectable(math.inf) == "none with so few items"


def test_curve_of_latencies_rises_by_a_step_at_each() -> None:
    assert shares([0.1, 0.4]) == [(0.1, 0.0), (0.1, 0.5), (0.4, 0.5), (0.4, 1.0)]


def test_segments_cut_a_text_where_marks_overlap() -> None:
    marks = [Mark(0, 5, "a"), Mark(3, 99, "b"), Mark(-3, 0, "c"), Mark(50, 60, "d")]
    assert segments("abcdefg", marks) == (
        Segment("abc", ("a",)),
        Segment("de", ("a", "b")),
        Segment("fg", ("b",)),
    )
    assert segments("") == ()
