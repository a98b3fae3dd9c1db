"""Ask a knowledge base every item of a task, and keep the run, whole or to be gone on with."""

import tempfile
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from ragkit_eval.item import Ask, Task
from ragkit_eval.record import Run, read_run
from ragkit_eval.run import make_header, run_async, run_items, shown_progress


def run_task(
    task: Task,
    ask: Ask,
    model: Mapping[str, Any],
    out: Path | None = None,
    *,
    concurrency: int = 1,
    label: str = "",
    overwrite: bool = False,
    quiet: bool = True,
) -> Run:
    """Ask all items, `concurrency` at a time, and return the run; without `out` nothing is kept.

    A run that `out` holds in part is gone on with. `model` describes what answers, as `model_of`
    does. Raises what `ragkit_eval.run.run_items` does; SIGINT and SIGTERM end it as `run_async` says.
    """
    header = make_header([task], model, {}, None, label=label)
    shown = nullcontext(None) if quiet else shown_progress()
    with tempfile.TemporaryDirectory(prefix="ragkit-eval-") as folder, shown as progress:
        path = out or Path(folder, "run.jsonl")
        going = run_items(
            [task],
            lambda _: ask,
            header,
            path,
            concurrency=concurrency,
            progress=progress,
            overwrite=overwrite,
        )
        run_async(going)
        return read_run(path)
