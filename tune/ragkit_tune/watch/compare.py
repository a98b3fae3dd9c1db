"""Runs side by side: what differs in their recipes, their figures, and what cannot be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ragkit.errors import UsageError
from ragkit_tune.watch import texts
from ragkit_tune.watch.summary import Summary

MOST_RUNS: Final = 24  # so many marks differ by shape and colour


Row = tuple[str, tuple[str, ...]]  # a line of a table: its name, and a cell per run


@dataclass(frozen=True, slots=True)
class Comparison:
    """Runs with the values of their recipes that are not the same in all, and what to mind."""

    runs: tuple[Summary, ...]
    differences: Mapping[str, tuple[Any, ...]]
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return JSON: the runs' figures, the differing keys with a value per run, the notes."""
        return {
            "runs": [run.as_json() for run in self.runs],
            "recipe_differences": {name: list(row) for name, row in self.differences.items()},
            "notes": list(self.notes),
        }


def check_names(names: Sequence[str], *, least: int = 1) -> None:
    """Raise UsageError for a run named twice, for too few and for too many."""
    if len(names) < least:
        raise UsageError(f"one run is no comparison: name {least} or more")
    if len(names) > MOST_RUNS:
        raise UsageError(f"{len(names)} runs cannot be told apart: name {MOST_RUNS} or fewer")
    for n, name in enumerate(names):
        if name in names[:n]:
            raise UsageError(f"run {name} is named twice: name it once")


def compare(runs: Sequence[Summary]) -> Comparison:
    """Compare runs; a key that one recipe lacks is None there."""
    keys = dict.fromkeys(name for run in runs for name in run.run.recipe)
    values = {key: tuple(run.run.recipe.get(key) for run in runs) for key in keys}
    differing = {key: row for key, row in values.items() if any(v != row[0] for v in row)}
    return Comparison(tuple(runs), differing, tuple(_notes(runs)))


def table(comparison: Comparison) -> list[Row]:
    """Return the figures of all runs, a line each."""
    runs = comparison.runs
    lines: dict[str, list[str]] = {
        "model": [f"{run.run.kind} from {run.base}" for run in runs],
        "state": [run.run.state for run in runs],
        "rows": [texts.rows(run) for run in runs],
        "steps": [texts.count(run.steps) for run in runs],
        "best dev measure": [texts.best(run.best) for run in runs],
        "verdict": [run.verdict.sentence if run.verdict else "not proven" for run in runs],
        "training time": [texts.duration(run.seconds) for run in runs],
        "speed": [texts.speed(run.tokens_per_s) for run in runs],
        "peak memory": [texts.memory(run) for run in runs],
    }
    return [(name, tuple(cells)) for name, cells in lines.items()]


def recipe_table(comparison: Comparison) -> list[Row]:
    """Return the values of the recipes that differ, a line each."""
    return [
        (name, tuple(texts.NONE if v is None else texts.recipe_value(v) for v in values))
        for name, values in comparison.differences.items()
    ]


def _notes(runs: Sequence[Summary]) -> Iterator[str]:
    if len(runs) < 2:
        return
    if _differ([str(run.run.values.get("data_hash")) for run in runs]):
        yield (
            "the runs have other rows, and each was measured on its own dev rows: the dev measures"
            " do not compare the models, the verdicts do"
        )
    if _differ([run.best.measure for run in runs if run.best]):
        yield "the runs chose their checkpoints by other measures: do not compare these values"
    if _differ([_loss_of(run) for run in runs]):
        yield "the runs have other losses: their values have no common scale"
    facts = [run.verdict.facts or {} for run in runs if run.verdict]
    if _differ([(fact.get("trial"), fact.get("collection")) for fact in facts]):
        yield "the verdicts are of other questions or collections: their differences do not compare"
    unproven = [run.name for run in runs if not run.verdict]
    if len(unproven) == 1:
        yield f"{unproven[0]} is not proven: `ragkit tune prove {unproven[0]}`"
    elif unproven:
        yield f"{len(unproven)} of the runs are not proven: `ragkit tune prove NAME` for each"


def _loss_of(run: Summary) -> tuple[object, ...]:
    recipe = run.run.recipe
    method = recipe.get("method") if run.run.kind == "adapter" else ""
    return run.run.kind, method, recipe.get("loss")


def _differ(values: Sequence[object]) -> bool:
    return any(value != values[0] for value in values)
