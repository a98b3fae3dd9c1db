"""Write the result: a whole folder, loaded by a new process and compared with what was trained.

A prefix, a pooling or a length that saving lost shows here, not in the search.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from checkpoints import (  # type: ignore[import-not-found]  # beside this script
    UNWRITTEN,
    flush_folder,
    reason_of,
)
from job import Job, Log, StopError  # type: ignore[import-not-found]

COMPARED: Final = 10  # texts or pairs that the written model is compared by
CLOSE: Final = 1e-4  # largest difference of a number, of float32 sums in another order


def write_model(job: Job, log: Log, save: Callable[[str], None], compared: dict[str, Any]) -> None:
    """Save the model beside its place, compare it in a new process, and move it there.

    `compared` is what `reload.py` reads. Raises StopError when the folder cannot be written, or
    holds another model than the trained.
    """
    log.tell("stage: writing the model")
    written = Path(f"{job.model}.writing")
    try:
        shutil.rmtree(written, ignore_errors=True)
        save(str(written))
        _compare(job, written, compared)
        flush_folder(written)
        shutil.rmtree(job.model, ignore_errors=True)
        written.rename(job.model)
    except UNWRITTEN as error:
        shutil.rmtree(written, ignore_errors=True)
        raise StopError(
            f"{job.model} cannot be written ({reason_of(error)}): make room, then resume"
        ) from error


def _compare(job: Job, written: Path, compared: dict[str, Any]) -> None:
    file = Path(job.log).with_name("compared.json")
    descriptor = os.open(file, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        json.dump(compared, stream)
    script = Path(__file__).with_name("reload.py")
    done = subprocess.run(
        [sys.executable, str(script), str(written), str(file), str(CLOSE)],
        capture_output=True,
        text=True,
        check=False,
        # Several processes may have started this one: the new process is none of them.
        env={name: v for name, v in os.environ.items() if name not in _LAUNCHED},
    )
    file.unlink()
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or ["no reason"]
        raise StopError(
            f"the written model is not the trained one ({lines[-1].strip()[:200]}): the checkpoints"
            " stay; report this base model"
        )


_LAUNCHED: Final = frozenset({"RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
