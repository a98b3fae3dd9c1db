"""The configuration of several GPUs, as accelerate itself reads it."""

from pathlib import Path
from typing import Any

import pytest

from ragkit_tune.recipe import make_recipe
from ragkit_tune.run.launcher import write_launcher


def read(tmp_path: Path, **values: object) -> Any:
    """Write the configuration of a recipe, and read it by accelerate."""
    from accelerate.commands.config.config_args import load_config_from_file

    given = {"kind": "embedder", "base": "b", "data": "d", "gpus": 2}
    arguments = write_launcher(make_recipe({**given, **values}), tmp_path / "accelerate.json")
    file = str(tmp_path / "accelerate.json")
    assert arguments == ("-m", "accelerate.commands.launch", "--config_file", file)
    return load_config_from_file(file)


def test_one_gpu_needs_no_launcher(tmp_path: Path) -> None:
    recipe = make_recipe({"kind": "embedder", "base": "b", "data": "d"})
    assert write_launcher(recipe, tmp_path / "accelerate.json") == ()
    assert list(tmp_path.iterdir()) == []


def test_ddp(tmp_path: Path) -> None:
    config = read(tmp_path, precision="bf16")
    assert config.distributed_type == "MULTI_GPU"
    assert (config.num_processes, config.mixed_precision) == (2, "bf16")


@pytest.mark.parametrize(("sharding", "stage"), [("zero1", 1), ("zero2", 2), ("zero3", 3)])
def test_zero(tmp_path: Path, sharding: str, stage: int) -> None:
    config = read(tmp_path, sharding=sharding, gpus=8)
    assert config.distributed_type == "DEEPSPEED"
    assert config.deepspeed_config["zero_stage"] == stage
    assert config.deepspeed_config["zero3_save_16bit_model"] is (stage == 3)


def test_fsdp_is_the_second_version_with_whole_checkpoints(tmp_path: Path) -> None:
    config = read(tmp_path, sharding="fsdp", checkpointing="on")
    assert config.distributed_type == "FSDP"
    assert config.fsdp_config["fsdp_version"] == 2
    assert config.fsdp_config["fsdp_state_dict_type"] == "FULL_STATE_DICT"
    # The trainer does it: transformers refuses a run where accelerate does so, too.
    assert config.fsdp_config["fsdp_activation_checkpointing"] is False
