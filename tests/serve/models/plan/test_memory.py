"""Weights and working memory against published figures, caches against real ones."""

from __future__ import annotations

from typing import Any

import pytest

from ragkit.errors import ModelError, UsageError
from ragkit.model_size.config import parse_config
from ragkit.model_size.hardware import GIB
from ragkit.model_size.size import Size, model_size
from ragkit_models.plan.cache import CHECKED, KVCache, kv_cache
from ragkit_models.plan.memory import weight_bytes, working_bytes
from ragkit_models.plan.scheme import SCHEMES, Scheme, stored_scheme
from tests.core.model_size.configs import KNOWN, SMALL

LLAMA = KNOWN["meta-llama/Llama-3.1-8B"].config


def scheme(name: str) -> Scheme:
    return next(found for found in SCHEMES if found.name == name)


def cache_of(name: str, **more: object) -> KVCache:
    return kv_cache(parse_config(KNOWN[name].config | more).get_text_config())


@pytest.mark.parametrize(
    ("name", "quantization", "published_gb"),
    [
        # Sizes of the files on the hub, in GB of 10^9 bytes.
        ("meta-llama/Llama-3.1-8B", "bf16", 16.06),
        ("meta-llama/Llama-3.1-70B", "bf16", 141.1),
        ("Qwen/Qwen2.5-7B", "w4a16", 5.57),
        ("Qwen/Qwen2.5-72B", "w4a16", 41.6),
        ("Qwen/Qwen2.5-7B", "gguf Q4_K_M", 4.68),
        # llama.cpp, README of quantize: Llama 3.1 8B, 4.58, 5.33, 6.14 and 7.95 GiB.
        ("meta-llama/Llama-3.1-8B", "gguf Q4_K_M", 4.92),
        ("meta-llama/Llama-3.1-8B", "gguf Q5_K_M", 5.72),
        ("meta-llama/Llama-3.1-8B", "gguf Q6_K", 6.59),
        ("meta-llama/Llama-3.1-8B", "gguf Q8_0", 8.54),
    ],
)
def test_weights_are_as_large_as_the_published_files(
    name: str, quantization: str, published_gb: float
) -> None:
    size = model_size(parse_config(KNOWN[name].config))
    assert weight_bytes(size, scheme(quantization)) / 1e9 == pytest.approx(published_gb, rel=0.02)


@pytest.mark.parametrize(
    ("name", "published_gib"), [("openai/gpt-oss-20b", 12.8), ("openai/gpt-oss-120b", 60.8)]
)
def test_a_checkpoint_that_leaves_modules_alone(name: str, published_gib: float) -> None:
    # arXiv 2508.10925, table 1; quantization_config as in the models' config.json.
    own = {
        "quant_method": "mxfp4",
        "modules_to_not_convert": [
            "model.layers.*.self_attn",
            "model.layers.*.mlp.router",
            "model.embed_tokens",
            "lm_head",
        ],
    }
    config = KNOWN[name].config | {"quantization_config": own}
    stored = stored_scheme(config)
    assert stored is not None
    size = model_size(parse_config(config), unquantized=stored.unquantized)
    assert weight_bytes(size, stored) / GIB == pytest.approx(published_gib, rel=0.01)


@pytest.mark.parametrize("name", SMALL)
def test_a_cache_is_as_large_as_the_one_transformers_fills(name: str) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    config = parse_config(SMALL[name]).get_text_config()
    model = AutoModelForCausalLM.from_config(config).eval()  # type: ignore[no-untyped-call]
    with torch.no_grad():
        filled = model(torch.ones(1, 6, dtype=torch.long), use_cache=True).past_key_values
    states = 0
    for layer in filled.layers:
        held = vars(layer)
        states += 2 * sum(
            held[key].numel() for key in ("keys", "values") if held.get(key) is not None
        )
        states += 2 * sum(state.numel() for state in held.get("conv_states", {}).values())
        states += 4 * sum(state.numel() for state in held.get("recurrent_states", {}).values())
    assert kv_cache(config).sequence_bytes(6) == states > 0
    assert name in CHECKED


def test_what_counts_as_checked_is_checked() -> None:
    assert SMALL.keys() | {"deepseek_v2", "deepseek_v3"} == CHECKED  # these in the next test


@pytest.mark.parametrize(
    ("name", "token_bytes"),
    [
        ("meta-llama/Llama-3.1-8B", 131_072),  # 2 x 32 layers x 8 heads x 128 x 2 bytes
        ("meta-llama/Llama-2-7b-hf", 524_288),  # the 0.5 MB of every talk on it
        ("Qwen/Qwen2.5-7B", 57_344),
        ("deepseek-ai/DeepSeek-V3", 70_272),  # arXiv 2405.04434: (512 + 64) x 61 x 2 bytes
        ("deepseek-ai/DeepSeek-V2-Lite", 31_104),
        ("Qwen/Qwen3-8B", 147_456),
        ("tiiuae/falcon-180B", 163_840),  # 8 of its 232 heads
    ],
)
def test_cache_of_a_token(name: str, token_bytes: int) -> None:
    assert cache_of(name).sequence_bytes(1) == token_bytes


def test_layers_with_a_window_keep_no_more_than_that() -> None:
    each = 2 * 8 * 256 * 2
    gemma = cache_of("google/gemma-2-9b", sliding_window=4096)
    assert gemma == KVCache(full=21 * each, windowed=21 * each, window=4096, parts=8)
    assert gemma.sequence_bytes(8192) == 21 * each * 8192 + 21 * each * 4096
    # Of six layers of Gemma 3, five have a window.
    images = cache_of("google/gemma-3-4b-pt")
    assert (images.full, images.windowed, images.window) == (5 * 4096, 29 * 4096, 1024)
    # Qwen names a window in its configuration that it does not use.
    assert cache_of("Qwen/Qwen2.5-7B", sliding_window=4096, use_sliding_window=False).windowed == 0
    eight_bits = kv_cache(parse_config(LLAMA), number_bytes=1)
    assert eight_bits.sequence_bytes(1) == 65_536


def test_gpus_share_a_cache_by_its_heads() -> None:
    four_heads = cache_of("Qwen/Qwen2.5-7B")
    assert [four_heads.on_each(gpus).full for gpus in (1, 2, 4, 8)] == [57344, 28672, 14336, 14336]
    latent = cache_of("deepseek-ai/DeepSeek-V3")
    assert latent.on_each(8) == latent


def test_the_cache_on_four_gpus_against_a_log_of_vllm() -> None:
    # vLLM #21348: Qwen3-235B-A22B on four H100s, 8.11 GiB for 178,880 tokens on each.
    on_each = cache_of("Qwen/Qwen3-235B-A22B").on_each(4)
    assert on_each.full == pytest.approx(8.11 * GIB / 178_880, rel=0.02)


def test_a_state_that_is_not_known_is_no_guess() -> None:
    for kind in ("mamba", "granitemoehybrid", "minimax", "kimi_linear", "rwkv"):
        with pytest.raises(ModelError, match="whose memory cannot be computed"):
            kv_cache(parse_config({"model_type": kind}))


def test_working_memory_against_logs_of_vllm() -> None:
    # vLLM #10511: Llama 3 8B on an H100 of 79.22 GiB at 0.90, 256 sequences: 1.26 GiB at the peak
    # of activations, 53.29 GiB left for the KV cache.
    config = parse_config(LLAMA)
    memory_bytes = int(79.22 * GIB)
    working = working_bytes(config, sequences=256, memory_bytes=memory_bytes)
    weights = weight_bytes(model_size(config), scheme("bf16"))
    assert 1.26 < working / GIB - 1 < 1.3 * 1.26
    assert (0.9 * memory_bytes - weights - working) / GIB == pytest.approx(53.29, rel=0.02)


def test_fewer_bits_take_less() -> None:
    size = Size(linear=7_000_000_000, other=1_000_000_000)
    by_bits = [weight_bytes(size, scheme(name)) for name in ("bf16", "w8a8", "fp8", "w4a16")]
    assert by_bits == sorted(by_bits, reverse=True)


@pytest.mark.parametrize(
    ("own", "bits"),
    [
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, 4 + 20 / 128),
        ({"quant_method": "gptq", "bits": 8, "group_size": 32}, 8 + 24 / 32),
        ({"quant_method": "gptq", "bits": 3, "group_size": -1}, 3 + 19 / 4096),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, 8 + 32 / 16384),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, 4.5),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, 4.5),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {
                    "group_0": {"weights": {"num_bits": 4, "type": "int", "group_size": 128}}
                },
            },
            4 + 20 / 128,
        ),
    ],
)
def test_the_format_of_a_quantized_checkpoint(own: dict[str, Any], bits: float) -> None:
    stored = stored_scheme({"quantization_config": own})
    assert stored is not None
    assert (stored.linear_bits, stored.name, stored.stored) == (bits, own["quant_method"], True)


def test_a_format_that_is_not_known_is_no_guess() -> None:
    assert stored_scheme({}) is None
    for own in ({"quant_method": "hqq"}, {"quant_method": "gptq", "bits": 99}, {"bits": 4}):
        with pytest.raises(UsageError, match="in a format that is not known here"):
            stored_scheme({"quantization_config": own})
    with pytest.raises(UsageError, match="in a format that is not known here"):
        stored_scheme({"text_config": {"quantization_config": {"quant_method": "hqq"}}})
