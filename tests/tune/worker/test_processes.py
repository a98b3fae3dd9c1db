"""Two processes that share a batch make the steps that one makes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tune.worker.here import run_here
from tests.tune.worker.tiny import WORKERS, logged, pair_rows, write_encoder, write_job

pytestmark = pytest.mark.long


def test_two_processes_make_the_steps_of_one(tmp_path: Path) -> None:
    base = write_encoder(tmp_path / "base")
    config = json.loads((base / "config.json").read_text("utf-8"))
    still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}  # each draws its own
    (base / "config.json").write_text(json.dumps({**config, **still}), "utf-8")
    logs = []
    for gpus in (1, 2):
        folder = tmp_path / str(gpus)
        job = write_job(
            folder,
            base,
            pair_rows(64),
            pair_rows(16, seed=9),
            gpus=gpus,
            steps=4,
            evaluate_every=2,
            learning_rate=1e-3,
            warmup=0.0,
        )
        if gpus == 1:
            assert run_here(job)[0] == 0
        else:
            launch(job)
        logs.append([line for line in logged(folder) if "loss" in line])
    for one, two in zip(*logs, strict=True):
        # Sums in another order; a batch without the other process's passages differs by a tenth.
        assert two["loss"] == pytest.approx(one["loss"], abs=2e-5)
        assert two["grad_norm"] == pytest.approx(one["grad_norm"], abs=2e-5)
        assert two["tokens"] == one["tokens"]
    assert (tmp_path / "2/model/model.safetensors").is_file()


def launch(job: Path) -> None:
    """Run a worker in two processes on the CPU, at a port that is free."""
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    done = subprocess.run(
        [sys.executable, *launcher, str(WORKERS / "embedder.py"), str(job)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"},
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
