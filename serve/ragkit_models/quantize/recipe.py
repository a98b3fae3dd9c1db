"""Describe the schemes: what each makes, and its recipe.

The worker passes a recipe to llm-compressor unchanged; for a GGUF file it is the commands of
llama.cpp's tools. The model card shows it.
"""

from collections.abc import Sequence
from typing import Final, Literal, get_args

Compressed = Literal["w8a8", "w4a16", "awq", "fp8"]
Gguf = Literal["gguf-f16", "gguf-q8_0", "gguf-q6_k", "gguf-q5_k_m", "gguf-q4_k_m"]
Scheme = Literal[Compressed, Gguf]
GGUF: Final[tuple[Gguf, ...]] = get_args(Gguf)
SCHEMES: Final[tuple[Scheme, ...]] = (*get_args(Compressed), *GGUF)

ABOUT: Final[dict[Scheme, str]] = {
    "w8a8": "8-bit integer weights per channel, activations per token (SmoothQuant, then GPTQ)",
    "w4a16": "4-bit integer weights in groups of 128, activations as they are (GPTQ)",
    "awq": "4-bit integer weights in groups of 128 with zero points (AWQ)",
    "fp8": "8-bit floating-point weights per channel, activations per token",
    "gguf-f16": "a GGUF file of 16-bit weights",
    "gguf-q8_0": "a GGUF file, 8.5 bits a weight",
    "gguf-q6_k": "a GGUF file, 6.6 bits a weight",
    "gguf-q5_k_m": "a GGUF file, about 5.7 bits a weight",
    "gguf-q4_k_m": "a GGUF file, about 4.9 bits a weight",
}
CALIBRATED: Final = frozenset[Scheme]({"w8a8", "w4a16", "awq"})

# What llama.cpp's converter writes by itself; the others are made of its 16-bit file.
_CONVERTED: Final[dict[Scheme, str]] = {"gguf-f16": "f16", "gguf-q8_0": "q8_0"}

# The head chooses between tokens: llm-compressor's examples never quantize it.
_NEVER_QUANTIZED: Final = ("lm_head",)
_MODIFIERS: Final[dict[Scheme, tuple[str, str]]] = {
    "w8a8": ("GPTQModifier", "W8A8"),
    "w4a16": ("GPTQModifier", "W4A16"),
    "awq": ("QuantizationModifier", "W4A16_ASYM"),
    "fp8": ("QuantizationModifier", "FP8_DYNAMIC"),
}
_BEFORE: Final[dict[Scheme, tuple[str, ...]]] = {
    "w8a8": ("    SmoothQuantModifier:", "      smoothing_strength: 0.8"),
    "awq": ("    AWQModifier:", '      duo_scaling: "both"'),
}


def recipe(scheme: Scheme, *, ignore: Sequence[str] = ()) -> str:
    """Write the YAML recipe of one of llm-compressor's schemes.

    `ignore` names layers, or patterns as `re:.*gate$`. SmoothQuant:
    https://arxiv.org/abs/2211.10438, GPTQ: https://arxiv.org/abs/2210.17323, AWQ:
    https://arxiv.org/abs/2306.00978. The smoothing strength of 0.8 is that of llm-compressor's
    W8A8 examples, `duo_scaling` that of its documentation of AWQModifier.

    >>> print(recipe("fp8"))
    quantize_stage:
      quantize_modifiers:
        QuantizationModifier:
          targets: ["Linear"]
          scheme: "FP8_DYNAMIC"
          ignore: ["lm_head"]
    """
    names = ", ".join(_quoted(name) for name in dict.fromkeys((*_NEVER_QUANTIZED, *ignore)))
    modifier, preset = _MODIFIERS[scheme]
    return "\n".join(
        [
            "quantize_stage:",
            "  quantize_modifiers:",
            *_BEFORE.get(scheme, ()),
            f"    {modifier}:",
            '      targets: ["Linear"]',
            f'      scheme: "{preset}"',
            f"      ignore: [{names}]",
        ]
    )


def file_type(scheme: Scheme) -> str:
    """Return the name that llama.cpp gives a GGUF scheme.

    >>> file_type("gguf-q4_k_m")
    'Q4_K_M'
    """
    return scheme.removeprefix("gguf-").upper()


def converted_type(scheme: Scheme) -> str:
    """Return the type that llama.cpp's converter writes for a scheme.

    It is that of the result, or "auto", 16 bits, where `needs_quantizer` says so.
    """
    return _CONVERTED.get(scheme, "auto")


def needs_quantizer(scheme: Scheme) -> bool:
    """Say whether a GGUF scheme needs llama.cpp's quantizer after its converter."""
    return scheme not in _CONVERTED


def gguf_recipe(scheme: Scheme, name: str) -> str:
    """Write the commands that make a GGUF file of the model `name`.

    >>> print(gguf_recipe("gguf-q4_k_m", "tiny"))
    convert_hf_to_gguf.py tiny --outtype auto --outfile tiny-16-bit.gguf
    llama-quantize tiny-16-bit.gguf tiny-Q4_K_M.gguf Q4_K_M
    """
    made = f"{name}-{file_type(scheme)}.gguf"
    first = made if not needs_quantizer(scheme) else f"{name}-16-bit.gguf"
    lines = [f"convert_hf_to_gguf.py {name} --outtype {converted_type(scheme)} --outfile {first}"]
    if needs_quantizer(scheme):
        lines.append(f"llama-quantize {first} {made} {file_type(scheme)}")
    return "\n".join(lines)


def _quoted(name: str) -> str:
    """Quote a name for YAML, whose double quotes take JSON's escapes."""
    import json

    return json.dumps(name, ensure_ascii=False)
