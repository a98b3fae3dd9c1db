"""Operations against the formulas, and against PyTorch's counter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ragkit_tune.plan.flops import step_flops
from ragkit_tune.plan.memory import Training
from ragkit_tune.plan.shape import read_shape
from tests.core.model_size.configs import KNOWN
from tests.tune.plan.models import bert, llama

CPU = Training(half=False, on_gpu=False)


def test_six_operations_a_parameter_and_token() -> None:
    model = read_shape(KNOWN["meta-llama/Llama-3.1-8B"].config, "adapter")
    active = 8_030_261_248 - 128_256 * 4096
    assert model.active == active
    scores = 12 * 32 * 4096 * 2048
    assert step_flops(model, CPU, [(3, 2048)]) == 3 * 2048 * (6 * active + scores)
    again = replace(CPU, checkpointing=True)
    assert step_flops(model, again, [(1, 64)]) == 64 * (8 * active + 16 * 32 * 4096 * 64)
    lora = replace(CPU, parameters="lora")
    assert step_flops(model, lora, [(1, 64)]) == 64 * (
        4 * active + 6 * 41_943_040 + 12 * 32 * 4096 * 64
    )


def test_experts_count_where_a_token_is_sent() -> None:
    mixture = read_shape(KNOWN["Qwen/Qwen3-30B-A3B"].config, "adapter")
    # "A3B": 3.3B with the embeddings (the model's card), 0.3B of which are looked up.
    assert (mixture.active + 151_936 * 2048) / 1e9 == pytest.approx(3.35, abs=0.05)


@pytest.mark.parametrize(
    ("config", "kind"), [(bert(2, 128, 500, 0.0), "embedder"), (llama(2, 128, 500), "adapter")]
)
def test_operations_are_those_that_torch_counts(config: dict[str, Any], kind: str) -> None:
    import torch
    from torch.utils.flop_counter import FlopCounterMode
    from transformers import AutoConfig, AutoModel, AutoModelForCausalLM

    family: Any = AutoModelForCausalLM if kind == "adapter" else AutoModel
    parsed = AutoConfig.for_model(**config, attn_implementation="eager")
    model = family.from_config(parsed)
    ids = torch.randint(3, 500, (2, 64))
    with FlopCounterMode(display=False) as counter:
        output: Any = model(input_ids=ids, use_cache=False)
        output[0].sum().backward()
    expected = step_flops(read_shape(config, kind), CPU, [(2, 64)])
    assert counter.get_total_flops() == pytest.approx(expected, rel=0.03)
