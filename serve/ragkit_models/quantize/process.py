"""Run the worker process: find its interpreter, report its stages, end it."""

import os
import re
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Final

from ragkit.errors import ModelError

_WORKER: Final = Path(__file__).with_name("worker.py")
_GRACE_S: Final = 10.0  # arbitrary: for an interrupted worker to end by itself
_LAST_LINES: Final = 30  # of the output, to find the reason of a failure in

Progress = Callable[[str], None]


def find_interpreter(python: Path | None) -> Path:
    """Find an interpreter that has llm-compressor. Raises ModelError when there is none."""
    if python is None:
        if find_spec("llmcompressor") is None:
            raise ModelError(
                "llm-compressor is not installed: pip install 'ragkit[quantize]', or make an"
                " environment of its own (pip install llmcompressor) and name its Python with"
                " --python"
            )
        return Path(sys.executable)
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec('llmcompressor') is None)"
    try:
        done = subprocess.run([str(python), "-c", code], cwd="/", timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ModelError(
            f"--python {python} cannot be run: name the Python of an environment"
            " that has llm-compressor"
        ) from error
    if done.returncode:
        raise ModelError(
            f"--python {python} has no llm-compressor: pip install llmcompressor"
            " in that environment"
        )
    return python


def run_worker(python: Path, job: Path, progress: Progress) -> None:
    """Run the worker on a job file, report its stages, and end it with this process.

    Raises ModelError with the last line of a failed worker.
    """
    environment = {**os.environ, "TOKENIZERS_PARALLELISM": "false"}
    with subprocess.Popen(
        [str(python), str(_WORKER), str(job)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment,
        start_new_session=True,  # one Ctrl-C, handled here
    ) as worker:
        try:
            assert worker.stdout is not None
            last = _follow(worker.stdout, progress)
            code = worker.wait()
        except BaseException:
            _end(worker)
            raise
    if code:
        killed = f"killed by {signal.Signals(-code).name}" if code < 0 else ""
        reason = killed or _reason(last) or f"exit code {code}"
        raise ModelError(
            f"llm-compressor failed: {' '.join(reason.split())[:300]}: check that it supports the"
            " model and that there is enough memory"
        )


def _reason(lines: Iterable[str]) -> str:
    """Return the line of the exception at the end of an output, else the last line with text."""
    texts = [line.strip() for line in lines if line.strip()]
    raised = [line for line in texts if re.match(r"[\w.]*(Error|Exception|Interrupt)\b", line)]
    return next(reversed(raised or texts), "")


def _end(worker: "subprocess.Popen[str]") -> None:
    worker.terminate()
    try:
        worker.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        worker.kill()


def _follow(output: IO[str], progress: Progress) -> deque[str]:
    """Report stages and llm-compressor's progress bars; universal newlines split their updates."""
    last: deque[str] = deque(maxlen=_LAST_LINES)
    for line in output:
        last.append(line)
        if stage := re.match(r"stage: (.+)", line):
            progress(stage[1])
        elif bar := re.match(r"\((\d+)/(\d+)\): (\w+)", line):
            progress(f"{bar[3].lower()} layer group {bar[1]} of {bar[2]}")
    return last
