"""Ask a knowledge base the items of a task, and return or continue the run."""

import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from ragkit_eval.run import make_header, run_async, run_items, shown_progress
from ragkit_eval.run.item import Ask, Task
from ragkit_eval.run.record import Run, read_run


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
    """Ask all items, `concurrency` at a time, and return the run; without `out` no file remains.

    A run that `out` holds in part is continued. `model` describes the knowledge base, as `model_of`
    does. Raises what `ragkit_eval.run.run_items` raises; signals end it as in `run_async`.
    """
    header = make_header([task], model, {}, None, label=label)
    display = nullcontext(None) if quiet else shown_progress()
    with (
        _note_if_stopped(None if quiet else out),
        tempfile.TemporaryDirectory(prefix="ragkit-eval-") as folder,
        display as progress,
    ):
        path = out or Path(folder, "run.jsonl")
        work = run_items(
            [task],
            lambda _: ask,
            header,
            path,
            concurrency=concurrency,
            progress=progress,
            overwrite=overwrite,
        )
        run_async(work)
        return read_run(path)


@contextmanager
def _note_if_stopped(out: Path | None) -> Iterator[None]:
    """Print, when a run is stopped, how to continue it."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if out is not None:
            sys.stderr.write(f"ragkit: stopped; the same command goes on from what is in {out}\n")
        raise
