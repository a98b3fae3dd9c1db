"""Kill a run at random moments, resume it to its end, and compare it with one left in peace.

`python -m tests.tune.worker.kills [--runs 20] [--kills 3]` prints how many runs had the same
weights to the last bit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.tune.worker.here import script
from tests.tune.worker.tiny import pair_rows, write_encoder, write_job

STEPS = 24


def make_run(folder: Path, base: Path) -> Path:
    """Write a job whose rows are met four times, some of them with equal passages."""
    rows = pair_rows(96)
    for n in range(0, 40, 2):
        rows[n] |= {name: rows[n + 40][name] for name in ("positive", "group")}
    settings: dict[str, Any] = {
        "steps": STEPS,
        "evaluate_every": 6,
        "save_every": 2,
        "batch": 16,
        "patience": 99,
    }
    return write_job(folder, base, rows, pair_rows(16, seed=9), **settings)


def train(job: Path, *, kill_at: int = 0, delay_s: float = 0.0) -> bool:
    """Run the worker in a process of its own; tell whether it came to its end.

    It is killed so many seconds after it told of the step `kill_at`. The process is a fork of this
    one, which has imported what the worker needs, and does not load the result anew.
    """
    output = job.with_name("output.txt")
    output.write_text("", "utf-8")
    child = os.fork()
    if not child:
        _run_child(job, output)
    while kill_at and not os.waitpid(child, os.WNOHANG)[0]:
        if f"step: {kill_at}/" in output.read_text("utf-8"):
            time.sleep(delay_s)
            os.kill(child, signal.SIGKILL)
            break
        time.sleep(0.002)
    else:
        if kill_at:
            return True
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL), output.read_text("utf-8")
    return status == 0


def fork_encoder(folder: Path) -> Path:
    """Write a base in another process: threads of this one could lock its forks up."""
    child = os.fork()
    if not child:
        code = 70
        try:
            write_encoder(folder)
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert status == 0
    return folder


def _run_child(job: Path, output: Path) -> None:
    code = 70
    try:
        descriptor = os.open(output, os.O_WRONLY | os.O_APPEND)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        sys.stdout = os.fdopen(1, "w", buffering=1)
        sys.argv = ["embedder", str(job)]
        setattr(script("model_write"), "_compare", lambda *_: None)  # noqa: B010  mypy knows none
        code = script("job").main(script("embedder").train)
    finally:
        os._exit(code)


def resume(job: Path) -> int:
    """Let a job go on from its newest checkpoint, as ragkit does; return its step."""
    values = json.loads(job.read_text("utf-8"))
    newest = script("checkpoints").newest_checkpoint(Path(values["checkpoints"]))
    values["resume"] = str(newest or "")
    job.write_text(json.dumps(values), "utf-8")
    return int(newest.name.rpartition("-")[2]) if newest else 0


def weights_hash(job: Path) -> str:
    """Return the sha256 of a run's final weights."""
    model = Path(json.loads(job.read_text("utf-8"))["model"])
    return hashlib.sha256((model / "model.safetensors").read_bytes()).hexdigest()


def kill_and_resume(job: Path, draw: random.Random, kills: int) -> list[int]:
    """Kill a run so many times, a little after a random step, then let it end.

    Each kill is drawn from a later part of the run, so that the ones after it have steps left.
    Return the steps that it went on from.
    """
    resumed = [0]
    for number in range(1, kills + 1):
        first = resumed[-1] + 1
        at = draw.randint(first, max(first, STEPS * number // (kills + 1)))
        if train(job, kill_at=at, delay_s=draw.uniform(0, 0.1)):
            return resumed[1:]  # it came to its end, and removed what it had gone on from
        resumed.append(resume(job))
        if resumed[-1] == STEPS:
            break
    train(job)
    return resumed[1:]


def main() -> None:
    """Print how many killed runs are equal to the uninterrupted."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    prepare()
    folder = Path(tempfile.mkdtemp(prefix="ragkit-kills-"))
    base = fork_encoder(folder / "base")
    expected_job = make_run(folder / "whole", base)
    train(expected_job)
    expected, draw, equal = weights_hash(expected_job), random.Random(options.seed), 0
    for n in range(options.runs):
        job = make_run(folder / f"killed-{n}", base)
        steps = kill_and_resume(job, draw, options.kills)
        same = weights_hash(job) == expected
        equal += same
        print(f"run {n}: resumed from {steps}, {'equal' if same else 'DIFFERENT'}", flush=True)
        shutil.rmtree(folder / f"killed-{n}")
    print(f"{equal} of {options.runs} equal to the uninterrupted run")
    shutil.rmtree(folder)


def prepare() -> None:
    """Import what the worker needs, before the first fork."""
    import datasets
    import sentence_transformers.sentence_transformer.losses
    import torch

    torch.set_num_threads(1)
    assert datasets
    assert sentence_transformers
    script("embedder")


if __name__ == "__main__":
    main()
