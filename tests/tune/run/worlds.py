"""A home, rows and a base for tests of runs, and workers that only pretend to train."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ragkit_tune.data.data_set import write_data_set
from ragkit_tune.recipe import Recipe, make_recipe
from ragkit_tune.run import job as jobs
from tests.tune.worker.tiny import pair_rows, write_encoder

BEGINNING = """
import json, os, sys, time
from pathlib import Path
job = json.loads(Path(sys.argv[1]).read_text())
def log(**values):
    with open(job["log"], "a") as file:
        file.write(json.dumps(values) + "\\n")
def say(line):
    print(line, flush=True)
def checkpoint(step):
    folder = Path(job["checkpoints"], f"step-{step:06d}")
    folder.mkdir(exist_ok=True)
    (folder / "checkpoint.json").write_text(json.dumps({"versions": {"torch": "2.13.0"}}))
"""
GOOD = """
say("stage: loading the model")
log(step=1, loss=2.5, grad_norm=0.75, learning_rate=0.1, tokens=64, seconds=1.0, rows=["r1", "r2"])
say("step: 1/2 loss 2.5000 grad 0.75 64 tokens/s left 3 s")
log(step=2, dev={"ndcg@10": 0.5})
checkpoint(2)
log(step=2, event="checkpoint")
Path(job["model"]).mkdir()
"""


@dataclass(frozen=True)
class World:
    """A home with data and a base; `recipe` names them."""

    home: Path
    data: Path
    base: Path
    workers: Path

    def recipe(self, **values: Any) -> Recipe:
        given = {"kind": "embedder", "base": str(self.base), "data": str(self.data)}
        return make_recipe({**given, **values})

    def write_worker(self, code: str, *, script: str = "embedder.py") -> None:
        (self.workers / script).write_text(BEGINNING + code, "utf-8")


def make_world(folder: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Make a world whose workers are written by the test."""
    world = World(folder / "home", folder / "data", folder / "base", folder / "workers")
    for path in (world.home, world.workers):
        path.mkdir()
    write_encoder(world.base)
    rows = {"train": pair_rows(8), "dev": pair_rows(2, seed=1), "test": []}
    write_data_set(world.data, "pairs", rows, {})  # type: ignore[arg-type]
    monkeypatch.setattr(jobs, "WORKERS", world.workers)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return world
