"""Write the recipe of a scheme in llm-compressor's format.

The worker passes it to llm-compressor unchanged, and the model card shows it.
"""

from collections.abc import Sequence
from typing import Final, Literal, get_args

Scheme = Literal["w8a8", "w4a16", "fp8"]
SCHEMES: Final[tuple[Scheme, ...]] = get_args(Scheme)

ABOUT: Final[dict[Scheme, str]] = {
    "w8a8": "8-bit integer weights per channel, activations per token (SmoothQuant, then GPTQ)",
    "w4a16": "4-bit integer weights in groups of 128, activations as they are (GPTQ)",
    "fp8": "8-bit floating-point weights per channel, activations per token",
}
CALIBRATED: Final = frozenset[Scheme]({"w8a8", "w4a16"})

# Of the bytes of a 16-bit original, without scales and unquantized layers.
SHARE: Final[dict[Scheme, float]] = {"w8a8": 0.5, "w4a16": 0.25, "fp8": 0.5}

# The head chooses between tokens: llm-compressor's examples never quantize it.
_NEVER_QUANTIZED: Final = ("lm_head",)


def recipe(scheme: Scheme, *, ignore: Sequence[str] = ()) -> str:
    """Write the YAML recipe of a scheme; `ignore` names layers, or patterns as `re:.*gate$`.

    SmoothQuant: https://arxiv.org/abs/2211.10438, GPTQ: https://arxiv.org/abs/2210.17323. The
    smoothing strength of 0.8 is that of llm-compressor's W8A8 examples.

    >>> print(recipe("fp8"))
    quantize_stage:
      quantize_modifiers:
        QuantizationModifier:
          targets: ["Linear"]
          scheme: "FP8_DYNAMIC"
          ignore: ["lm_head"]
    """
    names = ", ".join(_quoted(name) for name in dict.fromkeys((*_NEVER_QUANTIZED, *ignore)))
    modifier = "QuantizationModifier" if scheme == "fp8" else "GPTQModifier"
    name = {"w8a8": "W8A8", "w4a16": "W4A16", "fp8": "FP8_DYNAMIC"}[scheme]
    smooth = ["    SmoothQuantModifier:", "      smoothing_strength: 0.8"]
    return "\n".join(
        [
            "quantize_stage:",
            "  quantize_modifiers:",
            *(smooth if scheme == "w8a8" else []),
            f"    {modifier}:",
            '      targets: ["Linear"]',
            f'      scheme: "{name}"',
            f"      ignore: [{names}]",
        ]
    )


def _quoted(name: str) -> str:
    """Quote a name for YAML, whose double quotes take JSON's escapes."""
    import json

    return json.dumps(name, ensure_ascii=False)
