"""Which items a report shows, and what it calls their change."""

from __future__ import annotations

from pathlib import Path

from ragkit_eval.report.pairs import Pair, choose, pairs
from ragkit_eval.run.record import Record, Run
from tests.eval.report import runs


def page(*values: float | None, prediction: str = "") -> Run:
    """A run of one item per value; None is an error."""
    records = tuple(
        Record(task="mmlu", id=str(n), key="", status="error")
        if value is None
        else runs.graded("mmlu", str(n), value, prediction=prediction)
        for n, value in enumerate(values)
    )
    return Run(runs.header(items=len(values)), records, Path("unused"))


def kinds(paired: list[Pair]) -> list[str]:
    return [pair.kind for pair in paired]


def test_change_is_told_against_the_first_run() -> None:
    first, second = page(1, 0, 1, 0, None, 0.2), page(0, 1, 1, 0, 1, 0.4)
    assert kinds(pairs([first, second])) == [
        "broken",
        "fixed",
        "right",
        "wrong",
        "error",
        "differs",
    ]


def test_other_words_are_a_difference_only_where_they_are_wrong() -> None:
    first, second = page(1, 0, prediction="a"), page(1, 0, prediction="b")
    assert kinds(pairs([first, second])) == ["right", "differs"]


def test_item_that_a_run_has_not_come_to_is_held_against_nothing() -> None:
    paired = pairs([page(1, 0), page(1)])
    assert kinds(paired) == ["right", "wrong"]
    assert paired[1].records[1] is None


def test_disagreements_come_first_then_errors_and_the_order_is_the_runs() -> None:
    first, second = page(1, 1, None, 0, 1, 0), page(1, 0, None, 0, 1, 1)
    chosen = choose(pairs([first, second]), 3)
    assert [pair.key[1] for pair in chosen.pairs] == ["1", "5", "2"]
    assert dict(chosen.all) == {"right": 2, "broken": 1, "error": 1, "wrong": 1, "fixed": 1}
    assert chosen.left_out == 3


def test_sample_of_disagreements_does_not_depend_on_the_order_of_the_items() -> None:
    first, second = page(*[1] * 50), page(*[0] * 50)
    one = choose(pairs([first, second]), 10).pairs
    turned = [Run(run.header, run.records[::-1], run.path) for run in (first, second)]
    other = choose(pairs(turned), 10).pairs
    assert {pair.key for pair in one} == {pair.key for pair in other}
    assert len({int(pair.key[1]) // 10 for pair in one}) > 2, "taken from all over"


def test_no_limit_takes_all_and_zero_none() -> None:
    paired = pairs([page(1, 0), page(0, 0)])
    assert len(choose(paired, None).pairs) == 2
    assert choose(paired, 0).pairs == ()
