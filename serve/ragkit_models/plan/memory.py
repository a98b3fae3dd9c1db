"""Compute the bytes of the weights in a number format, and of the working memory beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ragkit.model_size.config import layer_configs
from ragkit.model_size.hardware import GIB
from ragkit_models.plan.scheme import Scheme

if TYPE_CHECKING:
    from transformers import PretrainedConfig

    from ragkit.model_size.size import Size

# Tokens that vLLM 0.32 reads in one step unless told otherwise: EngineArgs.get_batch_defaults, for
# GPUs below 70 GiB and A100s, and for larger ones. llama.cpp's --ubatch-size is 512.
_BATCH, _BATCH_LARGE, _LARGE, _BATCH_LLAMACPP = 2048, 8192, 70 * GIB, 512
# The process itself, the device's context, CUDA graphs and fragments. Arbitrary for GPUs: users of
# vLLM see 0.5 to 1.5 GiB, and 1.8 more for each GPU with two than with one (vLLM #10511 before its
# profiling was corrected). vLLM's CPU server took 2.9 GB for a tiny model with 1 GiB of cache.
_GPU, _SEVERAL_GPUS, _CPU, _LLAMACPP = GIB, GIB // 2, 2 * GIB, GIB // 2
# Sampling holds logits in 16 and 32 bits, their sorted copy, 64-bit indices, and probabilities.
_SAMPLED_BYTES: Final = 2 + 4 + 4 + 8 + 4


def weight_bytes(size: Size, scheme: Scheme) -> int:
    """Return the bytes of the weights, within a percent or two of a checkpoint's files."""
    return round((size.linear * scheme.linear_bits + size.other * scheme.other_bits) / 8)


def working_bytes(
    config: PretrainedConfig,
    *,
    sequences: int,
    memory_bytes: int,
    gpus: int = 1,
    on_gpu: bool = True,
    llamacpp: bool = False,
) -> int:
    """Estimate the memory besides weights and KV cache, rather too high than too low.

    The activations of one step (the residual stream with its projections, and what the widest
    layer needs, for each expert that a token is sent to), the logits of all sequences, and the
    process itself.
    """
    vocabulary = int(config.vocab_size)
    if llamacpp:
        return _step(config, _BATCH_LLAMACPP) + _BATCH_LLAMACPP * vocabulary * 4 + _LLAMACPP
    batch = _BATCH_LARGE if on_gpu and memory_bytes >= _LARGE else _BATCH
    process = (_GPU + (_SEVERAL_GPUS if gpus > 1 else 0)) if on_gpu else _CPU
    return _step(config, batch) + sequences * vocabulary * _SAMPLED_BYTES + process


def _step(config: PretrainedConfig, tokens: int) -> int:
    """Return the bytes of the activations of a step of that many tokens, in 16 bits."""
    hidden = int(config.hidden_size)
    layers = {id(layer): layer for layer in layer_configs(config)}
    widest = max(_widest(layer, hidden) for layer in layers.values())
    return tokens * (4 * hidden + widest) * 2


def _widest(layer: PretrainedConfig, hidden: int) -> int:
    """Return the largest number of values that a layer's feed-forward part holds for a token."""
    inner = int(getattr(layer, "intermediate_size", None) or 4 * hidden)
    experts = int(getattr(layer, "num_experts_per_tok", None) or 0)
    expert_inner = int(getattr(layer, "moe_intermediate_size", None) or inner)
    return max(3 * inner, experts * (3 * expert_inner + hidden))
