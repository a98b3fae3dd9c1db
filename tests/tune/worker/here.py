"""Workers in the test's own process: what they print, and their exit code.

A process of its own costs ten seconds of imports.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

from tests.tune.worker.tiny import WORKERS


def script(name: str) -> ModuleType:
    """Import a worker's script, as its siblings do."""
    if str(WORKERS) not in sys.path:
        sys.path.insert(0, str(WORKERS))
    return importlib.import_module(name)


def run_here(job: Path, name: str = "embedder", *, compares: bool = False) -> tuple[int, list[str]]:
    """Run a worker on a job file; return its exit code and its lines.

    Only with `compares` does it load its result in another process, which takes long.
    """
    output = io.StringIO()
    writing = script("model_write")
    compare = writing._compare if compares else lambda *_: None
    with (
        patch.object(sys, "argv", [name, str(job)]),
        patch.object(writing, "_compare", compare),
        contextlib.redirect_stdout(output),
    ):
        code = script("job").main(script(name).train)
    return code, output.getvalue().splitlines()


def stop_of(job: Path, name: str = "embedder", *, code: int = 1) -> str:
    """Run a worker that is to stop; return the reason."""
    result, lines = run_here(job, name)
    assert result == code, lines
    assert lines[-1].startswith("stopped: "), lines
    assert not (job.parent / "model").exists()
    return lines[-1].removeprefix("stopped: ")
