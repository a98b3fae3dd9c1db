"""Run a sweep over a labelled set: split, run the cells, choose, confirm, and write the result."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ragkit.errors import UsageError
from ragkit.system.private_files import make_private
from ragkit_eval.run.files import write_whole
from ragkit_eval.stats.bootstrap import SAMPLES
from ragkit_eval.sweep import choose_text
from ragkit_eval.sweep.cells import Cells, settings_of
from ragkit_eval.sweep.choose import SweepOutcome, choose
from ragkit_eval.sweep.collections import Collections
from ragkit_eval.sweep.grid import Cell, Grid
from ragkit_eval.sweep.split import halves

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit_eval.run.record import Run
    from ragkit_eval.sets import LabelledSet


@dataclass(frozen=True, slots=True)
class SweepResult:
    """A sweep's outcome, the number of questions in each half, and the collections it filled."""

    outcome: SweepOutcome
    questions: tuple[int, int]
    collections: tuple[str, ...]


def sweep(
    grid: Grid,
    labelled: LabelledSet,
    folder: Path,
    settings: Settings,
    *,
    collection: str | None = None,
    seed: int = 0,
    samples: int = SAMPLES,
    concurrency: int | None = None,
    overwrite: bool = False,
    quiet: bool = True,
    on_cell: Callable[[str], None] = lambda line: None,
) -> SweepResult:
    """Try all cells of a grid on half of a set's questions, and confirm the best on the other half.

    Every cell is a run file in `folder`, so that a stopped sweep can be continued; sweep.json and
    sweep.md there hold the result. Options that change what is stored get separate collections.
    Raises UsageError, SettingsError naming the cell, RagkitError when ingesting fails.
    """
    from ragkit.store.open import open_database

    choosing, confirming = halves(labelled, seed=seed)
    parts = {"choose": choosing, "confirm": confirming}
    cells = grid.cells()
    for cell in cells:
        settings_of(cell, settings)  # raises for invalid values before any cell runs
    _make_folder(folder)
    collections = Collections(grid, labelled, folder, collection)
    with open_database(settings) as database:
        runner = Cells(
            database,
            settings,
            grid,
            collections,
            folder,
            concurrency=concurrency,
            overwrite=overwrite,
            quiet=quiet,
        )

        def run(cell: Cell, stage: Literal["choose", "confirm"]) -> Run:
            place = f"cell {cells.index(cell) + 1} of {len(cells)}"
            on_cell(f"{'Confirming' if stage == 'confirm' else 'Trying'} {place}: {cell.label}")
            return runner.run(cell, parts[stage], stage)

        outcome = choose(cells, run, metric=grid.metric, seed=seed, samples=samples)
    questions = (len(choosing.questions), len(confirming.questions))
    _write(outcome, questions, folder)
    return SweepResult(outcome, questions, collections.names)


def _write(outcome: SweepOutcome, questions: tuple[int, int], folder: Path) -> None:
    values = choose_text.as_json(outcome, questions)
    text = json.dumps(values, ensure_ascii=False, indent=2, default=str) + "\n"
    write_whole(folder / "sweep.json", text)
    write_whole(folder / "sweep.md", choose_text.markdown(outcome, questions))


def _make_folder(folder: Path) -> None:
    try:
        make_private(folder)
    except OSError as error:
        raise UsageError(f"the folder {folder} cannot be created: {error.strerror}") from error
