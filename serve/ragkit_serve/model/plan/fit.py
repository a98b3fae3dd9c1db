"""What fits: weights, KV cache and helpers against the memory there is, for each quantization."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragkit.errors import UsageError
from ragkit_serve.model.plan.config import parse_config
from ragkit_serve.model.plan.memory import (
    SCHEMES,
    KVCache,
    Scheme,
    kv_cache,
    weight_bytes,
    working_bytes,
)
from ragkit_serve.model.plan.size import Size, language_model_size

if TYPE_CHECKING:
    from transformers import PretrainedConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is wanted: bytes of memory on each of `gpus` devices, tokens of context, sequences.

    `share` is the part of the memory that the engine may take; `others_bytes` what an embedding
    model and a reranker take of the first device.
    """

    memory_bytes: int
    gpus: int = 1
    context: int = 8192
    concurrency: int = 4
    share: float = 0.9
    fp8_cache: bool = False
    others_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """One quantization: bytes on each device, and how much context is left for it.

    `longest` are the tokens that each of the wanted sequences could have, 0 when the weights alone
    do not fit; `fits` says whether that is as many as wanted.
    """

    scheme: Scheme
    weights: int
    cache: int
    working: int
    free: int
    longest: int
    fits: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """A model's size and its rows, the most exact number format first."""

    size: Size
    rows: Sequence[Row]
    cache_token_bytes: int
    quantized: str


def make_plan(config: dict[str, Any], wish: Wish) -> Plan:
    """Plan for a config.json's values. Raises UsageError, ModelError.

    A checkpoint that is quantized already has one row: its own.
    """
    parsed = parse_config(config)
    _check(parsed, wish)
    size = language_model_size(parsed)
    method = quantized_as(config)
    schemes = [s for s in SCHEMES if not method or s.name == method]
    rows = [_row(parsed, size, scheme, wish) for scheme in schemes]
    cache = kv_cache(parsed, bytes_each=1 if wish.fp8_cache else 2)
    return Plan(size, rows, cache.full + cache.windowed, method)


def quantized_as(config: dict[str, Any]) -> str:
    """Return the scheme in which a checkpoint's weights are stored already, "" for 16 bits.

    >>> quantized_as({"quantization_config": {"quant_method": "awq", "bits": 4}})
    'awq'
    """
    own = config.get("quantization_config") or {}
    method = str(own.get("quant_method", "")).lower().replace("_", "-")
    if not method:
        return ""
    bits = own.get("bits") or own.get("w_bit")
    if method == "compressed-tensors":
        groups = own.get("config_groups") or {}
        weights = next((g.get("weights") or {} for g in groups.values()), {})
        bits = weights.get("num_bits")
        eight = "fp8" if weights.get("type") == "float" else "int8"
        name = eight if bits == 8 else method if bits == 4 else ""
    else:
        name = method if method in {scheme.name for scheme in SCHEMES} else ""
    if not name or (name in {"awq", "gptq"} and bits not in {4, None}):
        raise UsageError(
            f"the checkpoint is quantized by {method} with {bits} bits, for which there is no plan:"
            " plan for the original model instead"
        )
    return name


def _row(config: PretrainedConfig, size: Size, scheme: Scheme, wish: Wish) -> Row:
    each_cache = 1 if wish.fp8_cache else 2
    cache = kv_cache(config, bytes_each=each_cache)
    weights = -(-weight_bytes(size, scheme) // wish.gpus)
    working = working_bytes(config, max_num_seqs=wish.concurrency)
    room = int(wish.memory_bytes * wish.share) - wish.others_bytes - weights - working
    needed = -(-cache.sequence_bytes(wish.context) * wish.concurrency // wish.gpus)
    limit = int(getattr(config, "max_position_embeddings", 0) or wish.context)
    longest = _longest(cache, room * wish.gpus // wish.concurrency, limit)
    return Row(scheme, weights, needed, working, room - needed, longest, room >= needed)


def _longest(cache: KVCache, room: int, limit: int) -> int:
    """Return the most tokens of one sequence, at most `limit`, whose cache is within the room."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        fits = cache.sequence_bytes(middle) <= room
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def _check(config: PretrainedConfig, wish: Wish) -> None:
    limit = getattr(config, "max_position_embeddings", None)
    if limit and wish.context > limit:
        raise UsageError(
            f"the model reads at most {limit} tokens, not {wish.context}: ask for less"
        )
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    if wish.gpus > 1 and config.num_attention_heads % wish.gpus:
        raise UsageError(
            f"{config.num_attention_heads} attention heads cannot be shared by {wish.gpus} GPUs:"
            f" take a number that divides them (KV heads: {heads})"
        )
