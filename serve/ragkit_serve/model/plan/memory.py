"""Bytes on the hardware: weights by number format, the KV cache by architecture, and the rest.

Arithmetic over a configuration; it decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from transformers import PretrainedConfig

    from ragkit_serve.model.plan.size import Size

GIB: Final = 2**30


@dataclass(frozen=True, slots=True)
class Scheme:
    """A number format of the weights: bits of a linear layer's parameter, scales included.

    `rest_bits` is for the other parameters. `needs` is what the hardware or the engine must have.
    """

    name: str
    linear_bits: float
    rest_bits: float = 16
    needs: str = ""


# AWQ, GPTQ and w4a16 store 4 bits, and for each group of 128 a 16-bit scale and a 4-bit zero
# point. bitsandbytes' NF4 has a 32-bit scale for each 64 (arXiv 2305.14314). Q4_K_M mixes formats
# over all matrices; 4.89 bits a parameter is what llama.cpp's quantize README gives for Llama 3.1
# 8B (4.58 GiB), Q8_0's 8.5 are 32 bytes and a 16-bit scale.
SCHEMES: Final = (
    Scheme("bf16", 16),
    Scheme("fp8", 8, needs="GPU of compute capability 8.9 or newer"),
    Scheme("int8", 8 + 16 / 4096, needs="a w8a8 checkpoint"),
    Scheme("awq", 4 + (16 + 4) / 128, needs="an AWQ checkpoint"),
    Scheme("gptq", 4 + (16 + 4) / 128, needs="a GPTQ checkpoint"),
    Scheme("compressed-tensors", 4 + 16 / 128, needs="a w4a16 checkpoint"),
    Scheme("bitsandbytes", 4 + 32 / 64, needs="the plug-in vllm-bnb-plugin"),
    Scheme("gguf Q8_0", 8.5, 8.5, needs="--engine llamacpp"),
    Scheme("gguf Q4_K_M", 4.89, 4.89, needs="--engine llamacpp"),
)


def weight_bytes(size: Size, scheme: Scheme) -> int:
    """Return the bytes of the weights: what a checkpoint's files hold, within a percent or two."""
    return round((size.linear * scheme.linear_bits + size.rest * scheme.rest_bits) / 8)


@dataclass(frozen=True, slots=True)
class KVCache:
    """The KV cache's bytes: per token of each layer that sees all, and of each that sees a window.

    `fixed` are the bytes a sequence takes whatever its length (linear attention is not counted).
    """

    full: int
    windowed: int = 0
    window: int = 0

    def sequence_bytes(self, tokens: int) -> int:
        """Return the bytes of one sequence of that many tokens."""
        return self.full * tokens + self.windowed * min(tokens, self.window)


def kv_cache(config: PretrainedConfig, *, bytes_each: int = 2) -> KVCache:
    """Work out the KV cache of an architecture; `bytes_each` is 1 for FP8.

    A layer keeps a key and a value of each KV head for each token: 2 x heads x head size
    (arXiv 2305.13245). Multi-head latent attention keeps one compressed vector and the rotary part
    of the key instead (arXiv 2405.04434). Layers with a sliding window keep no more than that.
    """
    layers = int(config.num_hidden_layers)
    rank = getattr(config, "kv_lora_rank", None)
    if rank:
        each = (int(rank) + int(config.qk_rope_head_dim)) * bytes_each
        return KVCache(full=layers * each)
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    each = 2 * int(heads) * int(size) * bytes_each
    kinds = list(getattr(config, "layer_types", None) or ())
    window = getattr(config, "sliding_window", None) or 0
    if not kinds:
        uses = bool(window) and getattr(config, "use_sliding_window", True)
        kinds = ["sliding_attention" if uses else "full_attention"] * layers
    windowed = kinds.count("sliding_attention") if window else 0
    linear = kinds.count("linear_attention")
    return KVCache((layers - windowed - linear) * each, windowed * each, int(window))


def working_bytes(config: PretrainedConfig, *, max_num_seqs: int) -> int:
    """Estimate what running takes besides weights and KV cache: rather too much than too little.

    The activations of one step of 2048 tokens (vLLM's default batch of chunked prefill), the
    logits of `max_num_seqs` sequences in 32 bits, and 1 GiB for the device's context, CUDA graphs
    and fragments: arbitrary, seen as 0.5 to 1.5 GiB by users of vLLM.
    """
    inner = getattr(config, "moe_intermediate_size", None) or getattr(
        config, "intermediate_size", 4 * config.hidden_size
    )
    step = 2048 * (4 * int(config.hidden_size) + 2 * int(inner)) * 2
    return step + max_num_seqs * int(config.vocab_size) * 4 + GIB
