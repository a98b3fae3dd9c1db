"""A cell wins when the half that it was not chosen on shows it; else there is no winner."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from ragkit.errors import UsageError
from ragkit_eval.run.record import Run
from ragkit_eval.sweep import choose_text
from ragkit_eval.sweep.choose import SweepOutcome, choose
from ragkit_eval.sweep.grid import Cell
from tests.eval.runs import records, write_run

NAMES = ("plain", "good", "lucky")


def outcome(
    tmp_path: Path, scores: Mapping[tuple[str, str], Sequence[float | None]]
) -> tuple[SweepOutcome, list[tuple[str, str]]]:
    """Choose among cells of these names, whose scores stand for (cell, half)."""
    from ragkit_eval.run.record import read_run

    asked: list[tuple[str, str]] = []

    def run(cell: Cell, stage: str) -> Run:
        asked.append((cell.label, stage))
        path = tmp_path / f"{stage}-{cell.label}.jsonl"
        items = records(scores[cell.label, stage], latency_s=1.0)
        return read_run(write_run(path, items, name=cell.label))

    names = dict.fromkeys(name for name, _ in scores)
    return choose([Cell({"name": name}, name) for name in names], run), asked


def right(share: int) -> list[float]:
    return [1.0] * share + [0.0] * (40 - share)


def test_a_cell_that_is_better_on_both_halves_wins(tmp_path: Path) -> None:
    swept, asked = outcome(
        tmp_path,
        {
            ("plain", "choose"): right(10),
            ("good", "choose"): right(30),
            ("lucky", "choose"): right(20),
            ("plain", "confirm"): right(12),
            ("good", "confirm"): right(28),
        },
    )
    assert swept.verdict == "winner"
    assert swept.chosen is not None
    assert swept.chosen.cell.label == "good"
    # The other cells are never shown the half that confirms.
    assert asked[3:] == [("plain", "confirm"), ("good", "confirm")]
    said = list(choose_text.verdict(swept))
    assert said[0] == "Chosen on the first half: good"
    assert said[1].startswith("On the other half: good is better by 0.400 (95% 0.2")
    assert said[2] == "Winner: good"
    assert [row[:2] for row in choose_text.rows(swept)] == [
        ["chosen", "good"],
        ["", "lucky"],
        ["baseline", "plain"],
    ]


def test_one_that_was_lucky_does_not(tmp_path: Path) -> None:
    swept, _ = outcome(
        tmp_path,
        {
            ("plain", "choose"): right(10),
            ("lucky", "choose"): right(30),
            ("plain", "confirm"): right(20),
            ("lucky", "confirm"): right(21),
        },
    )
    assert swept.verdict == "no significant winner"
    values = choose_text.as_json(swept, (40, 40))
    assert (values["winner"], values["chosen"]) == (None, {"name": "lucky"})
    assert values["says"][-1] == (
        "No significant winner: this data does not show that it is better than plain."
    )
    assert values["confirmed"]["says"].startswith("no significant difference: +0.025")


def test_nothing_is_confirmed_where_the_baseline_is_best(tmp_path: Path) -> None:
    swept, asked = outcome(
        tmp_path, {("plain", "choose"): right(10), ("good", "choose"): right(10)}
    )
    assert (swept.verdict, swept.chosen) == ("no significant winner", None)
    assert [stage for _, stage in asked] == ["choose", "choose"]
    assert "no cell had a higher acc than the baseline, plain" in next(choose_text.verdict(swept))
    written = choose_text.markdown(swept, (40, 40))
    assert "| baseline | plain | 0.250 (" in written


def test_a_cell_of_errors_alone_is_no_result(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="every question of good ended in an error"):
        outcome(tmp_path, {("plain", "choose"): right(10), ("good", "choose"): [None] * 40})


def test_choosing_among_equals_seldom_finds_a_winner(tmp_path: Path) -> None:
    """20 sweeps over 5 cells that are all alike: the chosen one is confirmed by chance alone."""
    import random

    drawn = random.Random(7)
    winners = 0
    for number in range(20):
        folder = tmp_path / str(number)
        folder.mkdir()
        scores = {
            (f"cell {cell}", stage): [float(drawn.random() < 0.5) for _ in range(60)]
            for stage in ("choose", "confirm")
            for cell in range(5)
        }
        swept, _ = outcome(folder, scores)
        winners += swept.verdict == "winner"
    assert winners <= 3  # 5% of 20 is 1, and a winner must also be on the right side
