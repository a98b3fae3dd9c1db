"""Ask a base and its candidates the same items: knowledge tasks, and grounded answers.

Each model has its own run files, so that a stopped command can resume and `ragkit eval report` can
show them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ragkit.errors import UsageError
from ragkit.system.private_files import make_private
from ragkit_eval.quant.cost import merged
from ragkit_eval.quant.models import FinishedRun, Model, Served, ToServe, with_labels
from ragkit_eval.quant.serving import ReadyServer, identify_server, serve_model
from ragkit_eval.run.record import Run, read_run

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit_eval.run.item import Task
    from ragkit_eval.sets import LabelledSet

_NAME_CHARS: Final = 60


@dataclass(frozen=True, slots=True)
class ModelRun:
    """A model's run over all its questions, and the files of the run."""

    run: Run
    files: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Questions:
    """The questions for every model: tasks, a labelled set over a collection, or both."""

    tasks: tuple[Task, ...] = ()
    labelled: LabelledSet | None = None
    collection: str = ""


@dataclass(frozen=True, slots=True)
class Manner:
    """Options of the requests, and the folder of the runs."""

    folder: Path
    settings: Settings
    concurrency: int = 16
    timeout_s: float = 600.0
    seed: int = 0
    overwrite: bool = False
    quiet: bool = True

    @property
    def api_key(self) -> str | None:
        """Return the key of each request."""
        key = self.settings.llm_api_key
        return key.get_secret_value() if key else None


def run_models(
    models: Sequence[Model],
    questions: Questions,
    manner: Manner,
    *,
    on_model: Callable[[str], None] = lambda line: None,
) -> list[ModelRun]:
    """Return a run per model, over all tasks, the base's first; finished runs are read.

    Running servers are asked for their model before any question; the others are started in turn,
    so that one machine suffices. Raises UsageError without questions for a server, ServerGoneError
    for a server that does not answer, ModelError for one that cannot be started.
    """
    no_questions = not questions.tasks and questions.labelled is None
    if no_questions and not all(isinstance(model, FinishedRun) for model in models):
        raise UsageError(
            "there are no questions for the models: name tasks with --task, or a set with --rag"
        )
    runs = []
    for model in with_labels([_identified(model, manner) for model in models]):
        if isinstance(model, FinishedRun):
            runs.append(ModelRun(read_run(model.path, texts=False), (model.path,)))
            continue
        on_model(f"Asking {model.label}")
        with _at_hand(model, manner) as server:
            parts = []
            if questions.tasks:
                parts.append(_run_tasks(server, questions.tasks, manner))
            if questions.labelled is not None:
                parts.append(_run_answers(server, questions.labelled, questions.collection, manner))
        runs.append(ModelRun(merged(parts), tuple(part.path for part in parts)))
    return runs


def _identified(model: Model, manner: Manner) -> Model:
    """Fill in a server's model and label by its answer."""
    if not isinstance(model, Served):
        return model
    server = identify_server(model, api_key=manner.api_key, timeout_s=manner.timeout_s)
    return Served(model.url, server.model, server.label)


@contextmanager
def _at_hand(model: Served | ToServe, manner: Manner) -> Iterator[ReadyServer]:
    if isinstance(model, ToServe):
        with serve_model(model, api_key=manner.api_key) as server:
            yield server
    else:
        yield ReadyServer(model.url, model.model, model.label, manner.api_key)


def _run_tasks(server: ReadyServer, tasks: Sequence[Task], manner: Manner) -> Run:
    from ragkit_eval.run import evaluate, shown_progress

    with nullcontext(None) if manner.quiet else shown_progress() as progress:
        return evaluate(
            tasks,
            url=server.url,
            model=server.model,
            server_args=server.arguments,
            out=manner.folder / f"{_stem(server)}-tasks.jsonl",
            label=server.label,
            api_key=server.api_key,
            concurrency=manner.concurrency,
            timeout_s=manner.timeout_s,
            seed=manner.seed,
            overwrite=manner.overwrite,
            progress=progress,
        )


def _run_answers(
    server: ReadyServer, labelled: LabelledSet, collection: str, manner: Manner
) -> Run:
    """Answer a set's questions over a collection with this model, as a cell of a grid."""
    from ragkit.store.open import open_database
    from ragkit_eval.sweep.cells import Cells, settings_with
    from ragkit_eval.sweep.collections import Collections
    from ragkit_eval.sweep.grid import Cell, Grid

    values = {"llm_url": server.url, "llm_model": server.model}
    grid = Grid({name: (value,) for name, value in values.items()})
    key = {} if server.api_key is None else {"llm_api_key": server.api_key}
    settings = settings_with(manner.settings, key)
    with open_database(settings) as database:
        cells = Cells(
            database,
            settings,
            grid,
            Collections(grid, labelled, manner.folder, collection),
            manner.folder,
            concurrency=manner.concurrency,
            overwrite=manner.overwrite,
            quiet=manner.quiet,
        )
        return cells.run(Cell(values, server.label), labelled, "answers")


def _stem(server: ReadyServer) -> str:
    """Name a model's files: readable and unique; the server's address may change between runs."""
    safe = "".join(c if c.isalnum() or c in ".-" else "-" for c in server.label)[:_NAME_CHARS]
    digest = hashlib.sha256(f"{server.label}#{server.model}".encode()).hexdigest()[:8]
    return f"{safe.strip('-')}-{digest}"


def folder_for(out: Path | None, models: Sequence[Model]) -> Path | None:
    """Create the folder of the results. Raises UsageError if a run of a server needs one."""
    if out is None:
        if not all(isinstance(model, FinishedRun) for model in models):
            raise UsageError("name the folder of the runs with --out DIR")
        return None
    try:
        make_private(out)
    except OSError as error:
        raise UsageError(f"the folder {out} cannot be made: {error.strerror}") from error
    return out
