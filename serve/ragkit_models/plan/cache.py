"""Compute the size of the KV cache from a model's configuration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Self

from ragkit.errors import ModelError
from ragkit.model_size.config import layer_configs

if TYPE_CHECKING:
    from transformers import PretrainedConfig

# Architectures whose cache the tests compare with the one that transformers fills, or with a paper.
CHECKED: Final = frozenset(
    """
    bloom cohere2 deepseek_v2 deepseek_v3 ernie4_5 falcon gemma gemma2 gemma3_text gemma4_text glm
    glm4 glm4_moe gpt2 gpt_bigcode gpt_neox gpt_oss granite internlm3 llama minimax_m2 mistral
    mixtral olmo2 opt phi phi3 qwen2 qwen2_moe qwen3 qwen3_moe qwen3_next qwen3_5_text smollm3
    starcoder2
    """.split()
)

_FULL: Final = "full_attention"


@dataclass(frozen=True, slots=True)
class KVCache:
    """Bytes for each token: of all layers with full attention, and of all layers with a window.

    `fixed` counts bytes for each sequence, whatever its length. GPUs that share a model divide the
    cache into at most `parts`; more GPUs hold copies.
    """

    full: int
    windowed: int = 0
    window: int = 0
    fixed: int = 0
    parts: int = 1

    def sequence_bytes(self, tokens: int) -> int:
        """Return the bytes of one sequence of that many tokens."""
        return self.fixed + self.full * tokens + self.windowed * min(tokens, self.window)

    def on_each(self, gpus: int) -> Self:
        """Return the share of each of so many GPUs."""
        shared = min(gpus, self.parts)
        return replace(
            self,
            full=-(-self.full // shared),
            windowed=-(-self.windowed // shared),
            fixed=-(-self.fixed // shared),
        )


def kv_cache(config: PretrainedConfig, *, number_bytes: int = 2) -> KVCache:
    """Compute the KV cache of a language model; `number_bytes` is 1 for FP8.

    A layer stores a key and a value of each KV head for each token: 2 x heads x head size
    (arXiv 2305.13245). Multi-head latent attention stores one compressed vector and the rotary part
    of the key instead (arXiv 2405.04434), on every GPU. Layers with a sliding window store no more
    tokens than that; layers with gated delta rules store a matrix of each head and the last inputs
    of a convolution (arXiv 2412.06464), in 32 and 16 bits. Raises ModelError for other layers.
    """
    kinds = _kinds(config)
    rank = getattr(config, "kv_lora_rank", None)
    if rank and set(kinds) == {"full_attention"}:
        layer_bytes = (int(rank) + int(config.qk_rope_head_dim)) * number_bytes
        return KVCache(full=len(kinds) * layer_bytes)
    full = windowed = fixed = 0
    parts = []
    for layer, kind in zip(_caching_layers(config), kinds, strict=False):
        if kind == "linear_attention":
            fixed += _state_bytes(layer)
            continue
        heads = _kv_heads(layer)
        parts.append(heads)
        layer_bytes = 2 * heads * _head_size(layer) * number_bytes
        if kind == _FULL:
            full += layer_bytes
        else:
            windowed += layer_bytes
    window = _window(config) if windowed else 0
    return KVCache(full, windowed, window, fixed, parts=min(parts, default=1))


def _caching_layers(config: PretrainedConfig) -> list[PretrainedConfig]:
    """Return the configuration of each layer that has a cache.

    The last layers may use the cache of previous layers (Gemma 3n, Gemma 4).
    """
    layers = layer_configs(config)
    return layers[: len(layers) - int(getattr(config, "num_kv_shared_layers", None) or 0)]


def _kv_heads(config: PretrainedConfig) -> int:
    """Return the number of heads of a layer that store keys and values."""
    if config.model_type == "falcon" and config.new_decoder_architecture:
        return int(config.num_kv_heads)
    if getattr(config, "multi_query", False):  # Falcon, GPT-BigCode
        return 1
    heads = getattr(config, "num_key_value_heads", None)
    return int(heads or getattr(config, "num_attention_heads", None) or 0) or _unknown_heads(config)


def _head_size(config: PretrainedConfig) -> int:
    size = getattr(config, "head_dim", None)
    return int(size or config.hidden_size // config.num_attention_heads)


def _window(config: PretrainedConfig) -> int:
    chunk = getattr(config, "attention_chunk_size", None)
    return int(getattr(config, "sliding_window", None) or chunk or 0)


def _kinds(config: PretrainedConfig) -> list[str]:
    """Return the kind of attention of each layer. Raises ModelError for unknown kinds."""
    kinds = list(getattr(config, "layer_types", None) or ())
    if not kinds:
        # Qwen's older configurations name a window that they do not use.
        uses = _window(config) and getattr(config, "use_sliding_window", True)
        kinds = ["sliding_attention" if uses else _FULL] * int(config.num_hidden_layers)
    if not _window(config):
        kinds = [_FULL if kind == "sliding_attention" else kind for kind in kinds]
    supported = {_FULL, "sliding_attention", "chunked_attention", "linear_attention"}
    unknown = next((kind for kind in kinds if kind not in supported), None)
    if unknown or getattr(config, "layers_block_type", None):
        raise _no_plan(config, unknown or "state-space")
    return kinds


def _state_bytes(config: PretrainedConfig) -> int:
    """Return the bytes that a layer of gated delta rules stores for a sequence."""
    if not getattr(config, "linear_num_value_heads", None):
        raise _no_plan(config, "state-space")
    keys = config.linear_num_key_heads * config.linear_key_head_dim
    values = config.linear_num_value_heads * config.linear_value_head_dim
    last = (2 * keys + values) * config.linear_conv_kernel_dim * 2
    return int(last + values * config.linear_key_head_dim * 4)


def _unknown_heads(config: PretrainedConfig) -> int:
    raise _no_plan(config, "other")


def _no_plan(config: PretrainedConfig, kind: str) -> ModelError:
    return ModelError(
        f"architecture {config.model_type!r} has {kind} layers, whose memory cannot be"
        " computed: start the server and read its log, or plan for a model with attention alone"
    )
