"""Two processes that share a batch, or also the weights, make the steps that one makes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import accelerate
import pytest
import torch
from safetensors.torch import load_file

from ragkit_tune.recipe import make_recipe
from ragkit_tune.run.launcher import configuration
from tests.tune.worker.here import run_here
from tests.tune.worker.tiny import WORKERS, logged, pair_rows, write_encoder, write_job
from tests.tune.worker.tiny_language_models import chat_rows, losses, write_language_model
from tests.tune.worker.tiny_language_models import run_here as run_language_model
from tests.tune.worker.tiny_language_models import write_job as write_language_job

pytestmark = pytest.mark.long


STEPS: dict[str, Any] = {
    "steps": 4,
    "evaluate_every": 2,
    "learning_rate": 1e-3,
    "warmup": 0.0,
    "schedule": "constant",  # a run of two steps makes the first two of four
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_encoder(tmp_path_factory.mktemp("base"))
    config = json.loads((folder / "config.json").read_text("utf-8"))
    still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}  # each draws its own
    (folder / "config.json").write_text(json.dumps({**config, **still}), "utf-8")
    return folder


@pytest.fixture(scope="module")
def alone(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run in one process."""
    folder = tmp_path_factory.mktemp("alone")
    assert run_here(write_run(folder, base))[0] == 0
    return folder


def write_run(folder: Path, base: Path, **settings: Any) -> Path:
    return write_job(folder, base, pair_rows(64), pair_rows(16, seed=9), **STEPS | settings)


def assert_same_steps(folder: Path, alone: Path) -> None:
    one, two = ([line for line in logged(run) if "loss" in line] for run in (alone, folder))
    assert len(one) == len(two) == 4
    for single, shared in zip(one, two, strict=True):
        # Sums in another order; a batch without the other process's passages differs by a tenth.
        assert shared["loss"] == pytest.approx(single["loss"], abs=2e-5)
        assert shared["grad_norm"] == pytest.approx(single["grad_norm"], abs=2e-5)
        assert shared["tokens"] == single["tokens"]
    written, expected = (load_file(run / "model/model.safetensors") for run in (folder, alone))
    assert written.keys() == expected.keys()
    for name, weights in expected.items():
        if weights.dim() == 2:  # a bias may have no gradient but rounding, which Adam follows
            assert float((written[name] - weights).abs().mean()) < 1e-5, name


def test_two_processes_make_the_steps_of_one(base: Path, alone: Path, tmp_path: Path) -> None:
    launch(write_run(tmp_path, base, gpus=2))
    assert_same_steps(tmp_path, alone)


@pytest.mark.parametrize("checkpointing", ["off", "on"])
def test_two_processes_that_share_the_weights_make_the_steps_of_one(
    base: Path, alone: Path, tmp_path: Path, checkpointing: str
) -> None:
    sharing: dict[str, Any] = {"gpus": 2, "sharding": "fsdp", "checkpointing": checkpointing}
    launch(
        write_run(tmp_path / "run", base, **sharing),
        environment=fsdp_on_a_cpu(tmp_path, checkpointing),
    )
    assert_same_steps(tmp_path / "run", alone)


def test_a_run_that_shares_the_weights_goes_on_from_a_checkpoint(
    base: Path, alone: Path, tmp_path: Path
) -> None:
    job = write_run(tmp_path / "run", base, gpus=2, sharding="fsdp")
    environment = fsdp_on_a_cpu(tmp_path, "auto")
    launch(job, environment=environment)
    whole = load_file(tmp_path / "run/model/model.safetensors")
    first = tmp_path / "run/checkpoints/step-000002"
    shutil.rmtree(tmp_path / "run/checkpoints/step-000004")
    shutil.rmtree(tmp_path / "run/model")
    job.write_text(json.dumps(json.loads(job.read_text("utf-8")) | {"resume": str(first)}), "utf-8")
    launch(job, environment=environment)
    assert_same_steps(tmp_path / "run", alone)
    for name, weights in load_file(tmp_path / "run/model/model.safetensors").items():
        assert torch.equal(weights, whole[name]), name


@pytest.mark.parametrize("parameters", ["full", "lora"])
def test_a_language_model_is_trained_with_shared_weights(tmp_path: Path, parameters: str) -> None:
    base = write_language_model(tmp_path / "base")
    settings: dict[str, Any] = {"steps": 4, "evaluate_every": 2, "parameters": parameters}
    rows = chat_rows(16)
    assert (
        run_language_model("sft", write_language_job(tmp_path / "a", base, rows, **settings))[0]
        == 0
    )
    sharing: dict[str, Any] = {"gpus": 2, "sharding": "fsdp"}
    job = write_language_job(tmp_path / "b", base, rows, **settings, **sharing)
    launch(job, "sft.py", environment=fsdp_on_a_cpu(tmp_path, "auto"))
    assert losses(tmp_path / "b") == pytest.approx(losses(tmp_path / "a"), rel=1e-3)


def test_the_zeros_of_a_pruned_base_cannot_be_kept_with_shared_weights(
    base: Path, tmp_path: Path
) -> None:
    pruned = shutil.copytree(base, tmp_path / "pruned")
    (pruned / "card.json").write_text(json.dumps({"settings": {"magnitude": 0.5}}), "utf-8")
    job = write_run(tmp_path / "run", pruned, gpus=2, sharding="fsdp")
    output = launch(job, code=1, environment=fsdp_on_a_cpu(tmp_path, "auto"))
    assert "stopped: the zeros of a pruned base cannot be kept where each GPU" in output


def fsdp_on_a_cpu(folder: Path, checkpointing: str) -> dict[str, str]:
    """Return the environment in which accelerate shares weights on a CPU, as launched by ragkit.

    accelerate does so for GPUs only: a copy of it, with one more name in a list, does it here.
    """
    recipe = make_recipe({
        "kind": "embedder", "base": "b", "data": "d", "gpus": 2, "sharding": "fsdp",
        "checkpointing": checkpointing,
    })  # fmt: skip
    settings = configuration(recipe)["fsdp_config"]
    source = Path(accelerate.__file__).parent
    copy = folder / "packages/accelerate"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    state = (copy / "state.py").read_text("utf-8")
    gpus = "                DistributedType.MULTI_GPU,\n                DistributedType.MULTI_MLU,"
    assert state.count(gpus) == 1
    (copy / "state.py").write_text(
        state.replace(gpus, f"                DistributedType.MULTI_CPU,\n{gpus}"), "utf-8"
    )
    return {
        "PYTHONPATH": str(copy.parent),
        "ACCELERATE_USE_CPU": "true",
        "ACCELERATE_USE_FSDP": "true",
        **{name.upper(): str(value).lower() if isinstance(value, bool) else str(value)
           for name, value in settings.items()},
    }  # fmt: skip


def launch(
    job: Path,
    script: str = "embedder.py",
    *,
    code: int = 0,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Run a worker in two processes on the CPU, at a port that is free; return its output."""
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    done = subprocess.run(
        [sys.executable, *launcher, str(WORKERS / script), str(job)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        | dict(environment or {}),
    )
    assert done.returncode == code, done.stdout[-2000:] + done.stderr[-9000:]
    return done.stdout
