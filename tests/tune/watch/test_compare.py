"""Runs side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragkit.errors import UsageError
from ragkit_tune.watch.compare import check_names, compare, recipe_table, table
from ragkit_tune.watch.summary import summarise
from tests.tune.watch.run_folders import dev, make_run, step, verdict

PROVEN = verdict(0.03, 0.01, 0.05)


def test_only_what_differs_in_the_recipes_is_told(tmp_path: Path) -> None:
    first = make_run(tmp_path, "first", [step(1)], recipe={"batch": 64}, verdict=PROVEN)
    second = make_run(tmp_path, "second", [step(1)], recipe={"matryoshka": [64]}, verdict=PROVEN)
    found = compare([summarise(first), summarise(second)])
    assert dict(found.differences) == {"matryoshka": ([], [64]), "batch": (64, 32)}
    assert recipe_table(found) == [("matryoshka", ("none", "64")), ("batch", ("64", "32"))]
    assert found.notes == ()


def test_figures_stand_side_by_side(tmp_path: Path) -> None:
    lines = [dev(0, 0.25), step(1, 2.5), step(2), dev(2, 0.5)]
    first = make_run(tmp_path, "first", lines, verdict=PROVEN)
    second = make_run(tmp_path, "second", [], state="failed", failure="no memory")
    assert dict(table(compare([summarise(first), summarise(second)]))) == {
        "model": ("embedder from minilm", "embedder from minilm"),
        "state": ("finished", "failed"),
        "rows": ("gone or changed", "gone or changed"),
        "steps": ("2", "0"),
        "best dev measure": ("ndcg@10 0.5000 at step 2, 0.2500 before", "–"),
        "verdict": ("better by 0.030 (95% 0.010 to 0.050)", "not proven"),
        "training time": ("4.0 s", "–"),
        "speed": ("32 tokens/s", "–"),
        "peak memory": ("1,124 MiB (whole process)", "–"),
    }


def test_what_cannot_be_compared_is_named(tmp_path: Path) -> None:
    one = make_run(tmp_path, "one", [step(1), dev(1, 0.5)], verdict=PROVEN)
    facts = {"trial": "q2", "collection": "handbook"}
    other = make_run(
        tmp_path,
        "other",
        [step(1), dev(1, 0.5, "mrr@10")],
        recipe={"loss": "gist"},
        data_hash="e",
        verdict={**PROVEN, "facts": facts},
    )
    unproven = make_run(tmp_path, "unproven", [step(1), dev(1, 0.5)])
    notes = compare([summarise(run) for run in (one, other, unproven)]).notes
    assert [note.split(":")[0] for note in notes] == [
        "the runs have other rows, and each was measured on its own dev rows",
        "the runs chose their checkpoints by other measures",
        "the runs have other losses",
        "the verdicts are of other questions or collections",
        "unproven is not proven",
    ]
    assert compare([summarise(unproven)]).notes == ()
    twin = make_run(tmp_path, "twin", [step(1), dev(1, 0.5)])
    (note,) = compare([summarise(unproven), summarise(twin)]).notes
    assert note == "2 of the runs are not proven: `ragkit tune prove NAME` for each"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a"], "one run is no comparison: name 2 or more"),
        (["a", "b", "a"], "run a is named twice: name it once"),
        ([f"r{n}" for n in range(25)], "25 runs cannot be told apart: name 24 or fewer"),
    ],
)
def test_names_are_checked_before_the_work(names: list[str], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        check_names(names, least=2)
    assert str(raised.value) == message
    check_names(["a", "b"], least=2)
