"""Ask a base and its candidates the same items: knowledge tasks, and grounded answers.

Each model's runs are files of their own, so that a stopped command goes on and `ragkit eval
report` can show them. Knows nothing of what the runs cost.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ragkit.errors import UsageError
from ragkit_eval.quant.cost import merged
from ragkit_eval.quant.models import Kept, Served, resolved, with_labels
from ragkit_eval.record import Run, read_run

if TYPE_CHECKING:
    from ragkit.settings import Settings
    from ragkit_eval.item import Task
    from ragkit_eval.run.runner import Progress
    from ragkit_eval.sets import LabelledSet

_NAME_CHARS: Final = 60


@dataclass(frozen=True, slots=True)
class Asked:
    """A model's run over all that it was asked, and the files that hold it."""

    run: Run
    files: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Questions:
    """What every model is asked: tasks, and a labelled set over a collection, or one of both."""

    tasks: tuple[Task, ...] = ()
    labelled: LabelledSet | None = None
    collection: str = ""


@dataclass(frozen=True, slots=True)
class Manner:
    """How servers are asked, and where the runs of their answers go."""

    folder: Path
    settings: Settings
    concurrency: int = 16
    timeout_s: float = 600.0
    seed: int = 0
    overwrite: bool = False
    quiet: bool = True
    progress: Progress | None = None

    @property
    def api_key(self) -> str | None:
        """Return the key that goes with each request."""
        key = self.settings.llm_api_key
        return key.get_secret_value() if key else None


def run_models(
    models: Sequence[Served | Kept],
    questions: Questions,
    manner: Manner,
    *,
    on_model: Callable[[str], None] = lambda line: None,
) -> list[Asked]:
    """Return one run per model, over all tasks, the base's first; what was kept is read.

    All servers are asked who they are before any question. Raises UsageError where there is
    nothing to ask of a server, ServerGoneError when one does not answer.
    """
    nothing = not questions.tasks and questions.labelled is None
    if nothing and any(isinstance(one, Served) for one in models):
        raise UsageError("nothing to ask the servers: name tasks with --task, or a set with --rag")
    runs = []
    for model in with_labels(asyncio.run(_introduced(models, manner))):
        if isinstance(model, Kept):
            runs.append(Asked(read_run(model.path, texts=False), (model.path,)))
            continue
        on_model(f"Asking {model.label}")
        parts = []
        if questions.tasks:
            parts.append(_run_tasks(model, questions.tasks, manner))
        if questions.labelled is not None:
            parts.append(_run_answers(model, questions.labelled, questions.collection, manner))
        runs.append(Asked(merged(parts), tuple(part.path for part in parts)))
    return runs


async def _introduced(models: Sequence[Served | Kept], manner: Manner) -> list[Served | Kept]:
    """Ask each server who it is."""
    return [
        await resolved(one, api_key=manner.api_key, timeout_s=manner.timeout_s)
        if isinstance(one, Served)
        else one
        for one in models
    ]


def _run_tasks(model: Served, tasks: Sequence[Task], manner: Manner) -> Run:
    from ragkit_eval.run import evaluate

    return evaluate(
        tasks,
        url=model.url,
        model=model.model,
        out=manner.folder / f"{_stem(model)}-tasks.jsonl",
        label=model.label,
        api_key=manner.api_key,
        concurrency=manner.concurrency,
        timeout_s=manner.timeout_s,
        seed=manner.seed,
        overwrite=manner.overwrite,
        progress=manner.progress,
    )


def _run_answers(model: Served, labelled: LabelledSet, collection: str, manner: Manner) -> Run:
    """Answer a set's questions over a collection with this model, as one cell of a grid."""
    from ragkit.store.open import open_database
    from ragkit_eval.sweep.cells import Cells
    from ragkit_eval.sweep.grid import Cell, Grid
    from ragkit_eval.sweep.stored import Collections

    values = {"llm_url": model.url, "llm_model": model.model}
    grid = Grid({name: (value,) for name, value in values.items()})
    with open_database(manner.settings) as database:
        cells = Cells(
            database,
            manner.settings,
            grid,
            Collections(grid, labelled, manner.folder, collection),
            manner.folder,
            concurrency=manner.concurrency,
            overwrite=manner.overwrite,
            quiet=manner.quiet,
        )
        return cells.run(Cell(values, model.label), labelled, "answers")


def _stem(model: Served) -> str:
    """Name a model's files: readable, and no other model's; a server may move in between."""
    safe = "".join(c if c.isalnum() or c in ".-" else "-" for c in model.label)[:_NAME_CHARS]
    digest = hashlib.sha256(f"{model.label}#{model.model}".encode()).hexdigest()[:8]
    return f"{safe.strip('-')}-{digest}"


def folder_for(out: Path | None, models: Sequence[Served | Kept]) -> Path | None:
    """Make the folder of the results. Raises UsageError where servers' runs need one."""
    if out is None:
        if any(isinstance(one, Served) for one in models):
            raise UsageError("say where the runs of the servers go: --out DIR")
        return None
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"the folder {out} cannot be made: {error.strerror}") from error
    return out
