"""Ask a knowledge base every item of a task, and keep the run, whole or to be gone on with."""

import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
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
    does. Raises what `ragkit_eval.run.run_items` does; signals end it as `run_async` says.
    """
    header = make_header([task], model, {}, None, label=label)
    shown = nullcontext(None) if quiet else shown_progress()
    with (
        _told_if_stopped(None if quiet else out),
        tempfile.TemporaryDirectory(prefix="ragkit-eval-") as folder,
        shown as progress,
    ):
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


@contextmanager
def _told_if_stopped(out: Path | None) -> Iterator[None]:
    """Say on standard error where a run that is kept, and is stopped, goes on."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if out is not None:
            sys.stderr.write(f"ragkit: stopped; the same command goes on from what is in {out}\n")
        raise
