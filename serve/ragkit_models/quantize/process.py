"""The process of llm-compressor: its interpreter, its stages, its failures."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ragkit.errors import ModelError
from ragkit.system import worker_process

_WORKER: Final = Path(__file__).with_name("worker.py")

Progress = Callable[[str], None]


def find_interpreter(python: Path | None) -> Path:
    """Find an interpreter that has llm-compressor. Raises ModelError when there is none."""
    return worker_process.find_interpreter(
        python, ["llmcompressor"], option="--python", install="pip install 'ragkit[quantize]'"
    )


def run_worker(python: Path, job: Path, progress: Progress) -> None:
    """Run the worker on a job file, report its stages, and end it with this process.

    Raises ModelError with the last line of a failed worker.
    """
    reason = worker_process.run_worker(python, _WORKER, job, lambda line: _report(line, progress))
    if reason:
        raise ModelError(
            f"llm-compressor failed: {reason}: check that it supports the model and that there is"
            " enough memory"
        )


def _report(line: str, progress: Progress) -> None:
    """Report stages and llm-compressor's progress bars."""
    if stage := re.match(r"stage: (.+)", line):
        progress(stage[1])
    elif bar := re.match(r"\((\d+)/(\d+)\): (\w+)", line):
        progress(f"{bar[3].lower()} layer group {bar[1]} of {bar[2]}")
