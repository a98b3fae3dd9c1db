"""Plans against published sizes of known models, and what must hold of any plan."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragkit.errors import ModelError, UsageError
from ragkit_serve.model.plan.config import parse_config, read_config
from ragkit_serve.model.plan.fit import Wish, make_plan, quantized_as
from ragkit_serve.model.plan.hardware import helpers_bytes, memory, parse_bytes
from ragkit_serve.model.plan.memory import GIB, SCHEMES, KVCache, kv_cache, weight_bytes
from ragkit_serve.model.plan.size import Size, language_model_size
from tests.serve.model.plan.configs import KNOWN

LLAMA = KNOWN["meta-llama/Meta-Llama-3-8B"].config | {"max_position_embeddings": 8192}
CARD = Wish(memory_bytes=24 * GIB, context=8192, concurrency=6)


def scheme(name: str) -> Any:
    return next(found for found in SCHEMES if found.name == name)


@pytest.mark.parametrize("name", KNOWN)
def test_parameters_are_those_published(name: str) -> None:
    known = KNOWN[name]
    counted = language_model_size(parse_config(known.config)).parameters
    if known.exact:
        assert counted == known.parameters
    else:
        assert counted == pytest.approx(known.parameters, rel=0.005)


@pytest.mark.parametrize(
    ("name", "quantization", "published_gb"),
    [
        # Sizes of the files on the hub, in GB of 10^9 bytes.
        ("meta-llama/Meta-Llama-3-8B", "bf16", 16.06),
        ("meta-llama/Meta-Llama-3-70B", "bf16", 141.1),
        ("Qwen/Qwen2.5-7B", "awq", 5.57),
        ("Qwen/Qwen2.5-72B", "awq", 41.6),
        # llama.cpp, README of quantize: Llama 3.1 8B, 4.58 GiB and 7.95 GiB.
        ("meta-llama/Meta-Llama-3-8B", "gguf Q4_K_M", 4.92),
        ("meta-llama/Meta-Llama-3-8B", "gguf Q8_0", 8.54),
    ],
)
def test_weights_are_as_large_as_the_published_files(
    name: str, quantization: str, published_gb: float
) -> None:
    size = language_model_size(parse_config(KNOWN[name].config))
    assert weight_bytes(size, scheme(quantization)) / 1e9 == pytest.approx(published_gb, rel=0.02)


@pytest.mark.parametrize(
    ("config", "token_bytes"),
    [
        (LLAMA, 131_072),  # 2 x 32 layers x 8 heads x 128 x 2 bytes
        (KNOWN["meta-llama/Llama-2-7b-hf"].config, 524_288),  # the 0.5 MB of every talk on it
        (KNOWN["Qwen/Qwen2.5-7B"].config, 57_344),
        (KNOWN["deepseek-ai/DeepSeek-V3"].config, 70_272),  # arXiv 2405.04434: (512 + 64) x 61
        (KNOWN["Qwen/Qwen3-8B"].config, 147_456),
    ],
)
def test_kv_cache_of_a_token(config: dict[str, Any], token_bytes: int) -> None:
    assert kv_cache(parse_config(config)).sequence_bytes(1) == token_bytes


def test_layers_with_a_window_keep_no_more_than_that() -> None:
    gemma = kv_cache(parse_config(KNOWN["google/gemma-2-9b"].config | {"sliding_window": 4096}))
    each = 2 * 8 * 256 * 2
    assert gemma == KVCache(full=21 * each, windowed=21 * each, window=4096)
    assert gemma.sequence_bytes(8192) == 21 * each * 8192 + 21 * each * 4096
    assert kv_cache(parse_config(LLAMA), bytes_each=1).sequence_bytes(1) == 65_536


def test_a_plan_for_a_card() -> None:
    rows = {row.scheme.name: row for row in make_plan(LLAMA, CARD).rows}
    assert list(rows) == [one.name for one in SCHEMES]
    assert rows["bf16"].weights == 16_060_522_496
    assert rows["bf16"].cache == 6 * 8192 * 131_072
    assert not rows["bf16"].fits  # 15.0 + 6 + 1.2 GiB are more than 21.6
    assert rows["bf16"].longest < 8192 <= rows["awq"].longest
    assert all(rows[name].fits for name in ("fp8", "int8", "awq", "gptq", "gguf Q4_K_M"))


def test_two_cards_share_what_one_could_not_hold() -> None:
    whole = KNOWN["meta-llama/Meta-Llama-3-70B"].config | {"max_position_embeddings": 8192}
    wish = Wish(memory_bytes=80 * GIB, context=8192, concurrency=4)
    assert not make_plan(whole, wish).rows[0].fits
    assert not make_plan(whole, replace(wish, gpus=2)).rows[0].fits
    assert make_plan(whole, replace(wish, gpus=4)).rows[0].fits
    with pytest.raises(UsageError, match="64 attention heads cannot be shared by 3"):
        make_plan(whole, replace(wish, gpus=3))


@settings(deadline=None, max_examples=40)
@given(
    context=st.integers(16, 4096),
    concurrency=st.integers(1, 64),
    more=st.integers(1, 64),
    memory_gib=st.integers(4, 80),
)
def test_more_never_fits_where_less_does_not(
    context: int, concurrency: int, more: int, memory_gib: int
) -> None:
    wish = Wish(memory_bytes=memory_gib * GIB, context=context, concurrency=concurrency)
    rows = make_plan(LLAMA, wish).rows
    for larger in (
        replace(wish, context=context + more),
        replace(wish, concurrency=concurrency + more),
        replace(wish, others_bytes=more * 2**20),
    ):
        for row, other in zip(rows, make_plan(LLAMA, larger).rows, strict=True):
            assert other.free < row.free
            assert other.longest <= row.longest
            assert row.fits or not other.fits
    for row in rows:
        assert row.fits == (row.longest >= context)
        assert row.fits == (row.free >= 0)


def test_fewer_bits_take_less() -> None:
    size = Size(linear=7_000_000_000, rest=1_000_000_000)
    by_bits = [weight_bytes(size, scheme(name)) for name in ("bf16", "int8", "fp8", "awq")]
    assert by_bits == sorted(by_bits, reverse=True)


@pytest.mark.parametrize(
    ("own", "name"),
    [
        ({}, ""),
        ({"quant_method": "gptq", "bits": 4}, "gptq"),
        ({"quant_method": "fp8"}, "fp8"),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "int"}}},
            },
            "int8",
        ),
    ],
)
def test_a_quantized_checkpoint_has_one_row_its_own(own: dict[str, Any], name: str) -> None:
    config = LLAMA | ({"quantization_config": own} if own else {})
    assert quantized_as(config) == name
    rows = make_plan(config, CARD).rows
    assert [row.scheme.name for row in rows] == ([name] if name else [s.name for s in SCHEMES])


def test_nonsense_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="architecture 'no_such' is not known"):
        parse_config({"model_type": "no_such"})
    with pytest.raises(UsageError, match="reads at most 8192 tokens, not 9000"):
        make_plan(LLAMA, replace(CARD, context=9000))
    with pytest.raises(UsageError, match="by gptq with 3 bits"):
        quantized_as({"quantization_config": {"quant_method": "gptq", "bits": 3}})
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(UsageError, match="names no model_type"):
        read_config(str(tmp_path))
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(UsageError, match="is no model's config"):
        read_config(str(tmp_path))
    with pytest.raises(UsageError, match="is neither a folder"):
        read_config("no/such/folder/here")
    for text in ("", "24XB", "-1GB", "0", "1e3GB"):
        with pytest.raises(UsageError, match="is no amount of memory"):
            parse_bytes(text)
    for both in ((None, None), ("1GB", "1GB")):
        with pytest.raises(UsageError, match="say what to plan for"):
            memory(*both)


def test_the_embedding_model_takes_its_share() -> None:
    # 22,713,216 parameters (its model card says 22.7M), and half a GiB to work in.
    assert helpers_bytes("all-MiniLM-L6-v2") == 2 * 22_713_216 + GIB // 2


def test_the_command_says_what_fits_and_how_to_serve_it(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))

    def plan(*options: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "ragkit", "model", "plan", str(tmp_path), *options],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    said = plan("--gpu", "24GB", "--concurrency", "6")
    assert "8,030,261,248 parameters" in said
    assert f"ragkit model serve {tmp_path} --max-model-len 8192 --max-num-seqs 6" in said
    assert "--quantization fp8 --gpu-memory-utilization 0.9" in said
    assert max(map(len, said.splitlines())) <= 110 + len(str(tmp_path))
    listed = json.loads(plan("--gpu", "2GB", "--json", code=1))
    assert [one["fits"] for one in listed["schemes"]] == [False] * len(SCHEMES)
    assert "take more memory" in plan("--gpu", "2GB", code=1)
    assert "--cpu-kv-cache-gib" in plan("--ram", "32GB", "--context", "2048")
