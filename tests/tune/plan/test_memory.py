"""Memory by formula: against papers, published sizes, and what autograd keeps of real models.

Where a figure of a textbook that is wrong circulates, the right one is tested.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest

from ragkit.model_size.hardware import GIB
from ragkit_tune.plan.memory import (
    Training,
    activation_bytes,
    layer_bytes,
    logits_bytes,
    state_bytes,
    step_memory,
    trained_parameters,
)
from ragkit_tune.plan.shape import Shape, read_shape
from tests.core.model_size.configs import KNOWN
from tests.tune.plan.models import bert, gpt2, llama

GPU: Final = Training(half=True, on_gpu=True)
CPU: Final = Training(half=False, on_gpu=False)
# Weights in 16 bits, as the paper has them.
HALF: Final = replace(GPU, sharding="zero1")


def shape(config: dict[str, Any], kind: str = "adapter") -> Shape:
    return read_shape(config, kind)


def large() -> Shape:
    """A model of 48 layers of 1,280 with 20 heads, which a chapter calls GPT-2."""
    return shape(gpt2(48, 1280, 20) | {"activation_function": "gelu"})


def test_the_parameters_of_gpt2() -> None:
    # The chapter says 1,558,214,656 for the first shape; that is nearly GPT-2 XL's, the second.
    assert large().parameters == 1_010_159_360
    assert shape(gpt2(48, 1600, 25)).parameters == 1_557_611_200


def test_a_gated_layer_has_three_matrices_of_its_feed_forward_part() -> None:
    seven = KNOWN["meta-llama/Llama-2-7b-hf"].config
    assert shape(seven).parameters == 6_738_415_616
    assert shape(seven).gated
    fourth = shape(seven).layers * 11008 * 4096
    assert (shape(seven).parameters + fourth) / 1e9 == pytest.approx(8.18, abs=0.005)


def test_activations_of_the_paper() -> None:
    """34 h a token and 5 bytes a head and pair; 32 x 1,024 tokens take 214 GiB, or 64 GiB."""
    token, pair = layer_bytes(large(), HALF)
    assert (token, pair) == (34 * 1280, 2)  # the mask of padding is the 2
    stored = replace(large(), stores_scores=True)
    assert layer_bytes(stored, HALF) == (34 * 1280, 5 * 20)
    ends = 32 * 1024 * 1280 * (4 + 4 + 2)
    scores = activation_bytes(stored, HALF, [(32, 1024)])[0] - ends
    flash = activation_bytes(large(), HALF, [(32, 1024)])[0] - ends
    assert scores / GIB == pytest.approx(213.75, abs=0.01)
    assert flash / GIB == pytest.approx(63.75 + 3.0, abs=0.01)  # 3.0 for the mask of padding


def test_checkpointing_keeps_the_input_of_each_layer() -> None:
    way = replace(HALF, checkpointing=True)
    kept = activation_bytes(large(), way, [(4, 512)])[0]
    assert kept - 4 * 512 * 1280 * 10 == 2 * 4 * 512 * 1280 * 48  # 2 s b h L


def test_a_parameter_takes_16_bytes() -> None:
    xl = shape(gpt2(48, 1600, 25))
    for training in (CPU, HALF):  # "12 GB (m, v)" is 24.9 GB
        assert sum(state_bytes(xl, training)) == 16 * 1_557_611_200
    assert sum(state_bytes(xl, replace(CPU, optimizer="adamw-8bit"))) == 10 * 1_557_611_200
    # Autocast keeps copies of the matrices in 16 bits besides.
    assert sum(state_bytes(xl, GPU)) == 16 * 1_557_611_200 + 2 * xl.linear


@pytest.mark.parametrize(
    ("sharding", "gigabytes"), [("ddp", 120), ("zero1", 31.4), ("zero2", 16.6), ("zero3", 1.88)]
)
def test_zero_divides_as_in_its_paper(sharding: Any, gigabytes: float) -> None:
    # arXiv:1910.02054, figure 1: 7.5B parameters on 64 devices.
    model = replace(large(), parameters=7_500_000_000, linear=0)
    states = state_bytes(model, replace(GPU, sharding=sharding, gpus=64))
    assert sum(states) / 1e9 == pytest.approx(gigabytes, rel=0.005)


def test_adapters_freeze_the_rest() -> None:
    model = shape(KNOWN["meta-llama/Llama-3.1-8B"].config)
    lora = replace(GPU, parameters="lora", rank=16)
    # peft's count for rank 16 on all linear layers: 41,943,040.
    assert trained_parameters(model, lora) == 41_943_040
    trained = 16 * 41_943_040
    assert sum(state_bytes(model, lora)) == 2 * 8_030_261_248 + trained
    other = 8_030_261_248 - 6_979_321_856
    four = sum(state_bytes(model, replace(lora, bits=4)))
    assert four == 2 * other + round(6_979_321_856 * (4 + 8 / 64 + 32 / 16384) / 8) + trained
    eight = sum(state_bytes(model, replace(lora, bits=8)))
    assert eight == 2 * other + 6_979_321_856 + trained
    assert trained_parameters(model, replace(lora, parameters="prompt")) == 16 * 4096
    assert trained_parameters(model, replace(lora, parameters="prefix")) == 16 * 2 * 32 * 1024


def test_the_logits_of_a_large_vocabulary() -> None:
    model = shape(KNOWN["Qwen/Qwen2.5-7B"].config)
    # 10 bytes in the forward pass are 3.1 GB for 2 x 1,024 tokens; the backward pass takes 14.
    assert logits_bytes(model, GPU, [(2, 1024)]) == 2 * 1024 * 152_064 * 14
    assert logits_bytes(model, CPU, [(2, 1024)]) == 2 * 1024 * 152_064 * 16
    assert logits_bytes(shape(bert(2, 128, 1000), "embedder"), CPU, [(2, 1024)]) == 0


def test_a_cached_loss_does_not_depend_on_the_batch() -> None:
    model = shape(bert(4, 128, 1000), "embedder")
    cached = replace(CPU, cached=True)
    part = step_memory(model, cached, [(8, 64), (8, 128)])
    assert part.activations == activation_bytes(model, CPU, [(8, 128)])[0]


def test_more_never_takes_less() -> None:
    model = shape(llama(4, 128, 1000))
    for half in (False, True):
        base = replace(CPU, half=half, on_gpu=half)
        small = step_memory(model, base, [(2, 64)]).peak
        assert step_memory(model, base, [(4, 64)]).peak > small
        assert step_memory(model, base, [(2, 128)]).peak > small
        assert step_memory(model, replace(base, accumulated=True), [(2, 64)]).peak > small
        assert step_memory(model, replace(base, parameters="lora"), [(2, 64)]).peak < small
        alone = step_memory(model, replace(base, gpus=8, sharding="fsdp"), [(2, 64)]).weights
        assert alone < step_memory(model, base, [(2, 64)]).weights


ARCHITECTURES: Final = {
    "bert": (bert(3, 128, 300), "embedder", "full"),
    "bert without dropout": (bert(3, 128, 300, 0.0), "embedder", "full"),
    "xlm-roberta": (bert(3, 128, 300) | {"model_type": "xlm-roberta"}, "embedder", "full"),
    "bert lora": (bert(3, 128, 300, 0.0), "embedder", "lora"),
    "llama": (llama(3, 256, 300), "adapter", "full"),
    "llama, one head of keys": (llama(3, 256, 300, 1), "adapter", "full"),
    "qwen2, two heads of keys": (llama(3, 256, 300, 2, "qwen2"), "adapter", "full"),
    "qwen3": (llama(3, 256, 300, 2, "qwen3"), "adapter", "full"),
    "llama lora": (llama(3, 256, 300), "adapter", "lora"),
    "gpt2": (gpt2(3, 128, 2, 300), "adapter", "full"),
}


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_activations_are_those_that_autograd_keeps(name: str) -> None:
    """Compare with the storages that PyTorch saves for the backward pass, layers only."""
    config, kind, parameters = ARCHITECTURES[name]
    counted = [_kept(config | _layers(config, n), kind, parameters) for n in (1, 3)]
    model = shape(config, kind)
    token, pair = layer_bytes(model, replace(CPU, parameters=parameters))
    assert (counted[1] - counted[0]) / 2 == pytest.approx(4 * 48 * (token + pair * 48), rel=0.07)


def _layers(config: dict[str, Any], count: int) -> dict[str, int]:
    return {"n_layer" if config["model_type"] == "gpt2" else "num_hidden_layers": count}


def _kept(config: dict[str, Any], kind: str, parameters: str) -> int:
    import torch
    from transformers import AutoConfig, AutoModel, AutoModelForCausalLM

    torch.manual_seed(0)
    family: Any = AutoModelForCausalLM if kind == "adapter" else AutoModel
    model = family.from_config(AutoConfig.for_model(**config))
    if parameters == "lora":
        from peft import LoraConfig, get_peft_model

        model = get_peft_model(model, LoraConfig(r=16, target_modules="all-linear"))
    constant = {t.untyped_storage().data_ptr() for t in (*model.parameters(), *model.buffers())}
    kept: dict[int, Any] = {}

    def pack(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in constant:
            kept[storage.data_ptr()] = storage  # held, so that no other gets its place
        return tensor

    ids = torch.randint(3, 300, (4, 48))
    mask = torch.ones_like(ids)
    mask[0, -1] = 0
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        model.train()(input_ids=ids, attention_mask=mask, use_cache=False)
    return sum(storage.nbytes() for storage in kept.values())
