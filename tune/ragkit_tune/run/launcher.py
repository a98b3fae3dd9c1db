"""How several GPUs share a run: the configuration that `accelerate launch` reads.

ragkit invents no parallelism: it writes what the recipe asks for, and the libraries do it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ragkit_tune.recipe import Recipe
from ragkit_tune.run.folder import write_private

_ZERO_STAGES: Final = {"zero1": 1, "zero2": 2, "zero3": 3}


def write_launcher(recipe: Recipe, path: Path) -> tuple[str, ...]:
    """Write the configuration of a run on several GPUs; return the arguments that start it.

    A run on one GPU needs neither. Raises OSError.
    """
    if recipe.gpus == 1:
        return ()
    write_private(path, json.dumps(configuration(recipe), indent=2) + "\n")
    return ("-m", "accelerate.commands.launch", "--config_file", str(path))


def configuration(recipe: Recipe) -> Mapping[str, Any]:
    """Return accelerate's configuration for a recipe's GPUs and sharding."""
    precision = {"fp32": "no", "auto": "no"}.get(recipe.precision, recipe.precision)
    common = {
        "compute_environment": "LOCAL_MACHINE",
        "debug": False,
        "machine_rank": 0,
        "main_process_port": 0,  # any free one: two runs may share a machine
        "main_training_function": "main",
        "mixed_precision": precision,
        "num_machines": 1,
        "num_processes": recipe.gpus,
        "rdzv_backend": "static",
        "same_network": True,
        "use_cpu": False,
    }
    if recipe.sharding in _ZERO_STAGES:
        stage = _ZERO_STAGES[recipe.sharding]
        return {**common, "distributed_type": "DEEPSPEED", "deepspeed_config": _deepspeed(stage)}
    if recipe.sharding == "fsdp":
        return {**common, "distributed_type": "FSDP", "fsdp_config": _fsdp()}
    return {**common, "distributed_type": "MULTI_GPU", "gpu_ids": "all"}


def _deepspeed(stage: int) -> dict[str, Any]:
    return {
        "zero_stage": stage,
        "zero3_init_flag": stage == 3,
        "zero3_save_16bit_model": stage == 3,  # one whole model, not a shard for each GPU
        "offload_optimizer_device": "none",
        "offload_param_device": "none",
        "gradient_accumulation_steps": "auto",
        "gradient_clipping": "auto",
    }


def _fsdp() -> dict[str, Any]:
    return {
        "fsdp_version": 2,
        "fsdp_reshard_after_forward": True,
        "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
        "fsdp_state_dict_type": "FULL_STATE_DICT",
        "fsdp_cpu_ram_efficient_loading": False,
        "fsdp_offload_params": False,
        "fsdp_activation_checkpointing": False,  # the trainer does it; both at once are refused
    }
