"""Number formats of weights: those to choose from, and that of a stored checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ragkit.errors import UsageError


@dataclass(frozen=True, slots=True)
class Scheme:
    """A number format of the weights: bits of a linear layer's parameter, scales included.

    `other_bits` counts for the other parameters. `needs` names what the hardware or engine must
    have, `options` the values of `--quantization` that mean it. `unquantized` are modules that a
    stored checkpoint left in 16 bits.
    """

    name: str
    linear_bits: float
    other_bits: float = 16
    needs: str = ""
    options: tuple[str, ...] = ()
    on_cpu: bool = True
    stored: bool = False
    unquantized: tuple[str, ...] = ()

    @property
    def llamacpp(self) -> bool:
        """Whether llama.cpp runs it instead of vLLM."""
        return self.name.startswith("gguf")


# w8a8 has a 16-bit scale for each output channel, a few thousand weights. AWQ, GPTQ and w4a16 store
# 4 bits, and for each group of 128 a 16-bit scale and a 4-bit zero point. bitsandbytes' NF4 has a
# 32-bit scale for each 64 (arXiv 2305.14314). GGUF quantizes the embeddings as well: Q8_0 in 8.5
# bits, 32 bytes and a 16-bit scale; Q6_K in 6.56; Q5_K_M and Q4_K_M mix Q5_K (5.5 bits) or Q4_K
# (4.5) with Q6_K, more of the latter in the embeddings, such that Llama 3.1 8B has 5.33 and 4.58
# GiB (llama.cpp's README of quantize). F16 is as large as bf16.
SCHEMES: Final = (
    Scheme("bf16", 16, options=("bf16",)),
    Scheme("fp8", 8, needs="a GPU from compute capability 8.9", options=("fp8",), on_cpu=False),
    Scheme("w8a8", 8 + 16 / 4096, needs="an int8 checkpoint", options=("int8",)),
    Scheme(
        "w4a16",
        4 + (16 + 4) / 128,
        needs="an AWQ, GPTQ or w4a16 checkpoint",
        options=("awq", "gptq", "compressed-tensors"),
    ),
    Scheme(
        "bitsandbytes",
        4 + 32 / 64,
        needs="the plug-in vllm-bnb-plugin",
        options=("bitsandbytes",),
        on_cpu=False,
    ),
    Scheme("gguf Q8_0", 8.5, 8.5, needs="llama.cpp, one answer at a time", options=("gguf",)),
    Scheme("gguf Q6_K", 6.5625, 6.5625, needs="llama.cpp, one answer at a time", options=("gguf",)),
    Scheme("gguf Q5_K_M", 5.64, 6.1, needs="llama.cpp, one answer at a time", options=("gguf",)),
    Scheme("gguf Q4_K_M", 4.8, 6.0, needs="llama.cpp, one answer at a time", options=("gguf",)),
)


def stored_scheme(config: Mapping[str, Any]) -> Scheme | None:
    """Return the format of a stored checkpoint's weights, None for 16 bits.

    Raises UsageError for an unknown format.

    >>> stored_scheme({"quantization_config": {"quant_method": "awq", "bits": 4}}).linear_bits
    4.15625
    """
    text = config.get("text_config") or {}
    section = config.get("quantization_config") or text.get("quantization_config")
    if not section:
        return None
    method = str(section.get("quant_method") or "unknown").lower().replace("_", "-")
    bits = _bits(method, section)
    if bits is None:
        raise UsageError(
            f"the checkpoint is quantized by {method} in a format that is not known here: plan for"
            " the original model instead"
        )
    return Scheme(
        method,
        bits,
        needs="the checkpoint as it is",
        stored=True,
        unquantized=_unquantized(section),
    )


def _bits(method: str, section: Mapping[str, Any]) -> float | None:
    """Return the bits of a quantized weight with its share of the scales, None if unknown."""
    if method in {"awq", "gptq"}:
        bits = section.get("bits") or section.get("w_bit") or 4
        return _grouped(bits, section.get("group_size", 128), 16)
    if method in {"fp8", "fbgemm-fp8"}:
        rows, columns = section.get("weight_block_size") or (1, 4096)
        return 8 + 32 / (rows * columns)
    if method == "bitsandbytes":
        return 8 + 16 / 4096 if section.get("load_in_8bit") else 4 + 32 / 64
    if method == "compressed-tensors":
        return _compressed(section)
    # An 8-bit scale for each 32, or each 16: OCP Microscaling Formats 1.0, NVIDIA's NVFP4.
    by_name = {"mxfp4": 4 + 8 / 32, "FP8": 8.0, "NVFP4": 4 + 8 / 16}
    return by_name.get(str(section.get("quant_algo")) if method == "modelopt" else method)


def _compressed(section: Mapping[str, Any]) -> float | None:
    for group in (section.get("config_groups") or {}).values():
        weights = group.get("weights") or {}
        bits = weights.get("num_bits")
        if bits in {4, 8}:
            four_bit_float = weights.get("type") == "float" and bits == 4
            return _grouped(bits, weights.get("group_size"), 8 if four_bit_float else 16)
    return None


def _grouped(bits: int, group: int | None, scale_bits: int) -> float | None:
    """Add a scale and a zero point, as wide as a weight, to each group; 0 is a channel of 4096."""
    if not isinstance(bits, int) or not 2 <= bits <= 8:
        return None
    return bits + (scale_bits + bits) / (group if group and group > 0 else 4096)


def _unquantized(section: Mapping[str, Any]) -> tuple[str, ...]:
    names = ("modules_to_not_convert", "ignore", "ignored_layers", "llm_int8_skip_modules")
    modules = next((section[name] for name in names if section.get(name)), ())
    return tuple(str(module) for module in modules)
