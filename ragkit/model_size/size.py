"""Count a model's parameters, and those that quantization makes smaller.

They are counted on the architecture that transformers builds, on a device without memory.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from ragkit.errors import ModelError

if TYPE_CHECKING:
    from torch.nn import Module, Parameter
    from transformers import PretrainedConfig

_IN_A_LAYER: Final = re.compile(r"\.(layers|h|blocks)\.\d+\.")
# Routers, gates of shared experts, biases of stacked experts and convolutions stay in 16 bits.
_UNQUANTIZED: Final = re.compile(
    r"(mlp|feed_forward)\.gate\.weight$|router|shared_expert_gate|bias$|conv1d|A_log$"
)


@dataclass(frozen=True, slots=True)
class Size:
    """Numbers of parameters: of the linear layers, which can be quantized, and of all others.

    The others are embeddings, the output layer, norms, routers, and encoders of images or sound,
    which AWQ, GPTQ, FP8 and INT8 checkpoints all store in 16 bits.
    """

    linear: int
    other: int

    @property
    def parameters(self) -> int:
        """Return the number that model cards publish; tied weights count once."""
        return self.linear + self.other


def model_size(config: PretrainedConfig, *, unquantized: Sequence[str] = ()) -> Size:
    """Count the parameters of a language model, encoders of images included.

    `unquantized` are names or patterns (`re:` for a regular expression) of modules that a quantized
    checkpoint left in 16 bits. Raises ModelError for other models.
    """
    from transformers import AutoModelForCausalLM, AutoModelForMultimodalLM

    text: PretrainedConfig = config.get_text_config()
    parameters = _parameters(AutoModelForCausalLM, text)
    linear = sum(
        weights.numel()
        for name, weights in parameters.items()
        if weights.dim() in {2, 3}  # experts are stacked
        and _IN_A_LAYER.search(name)
        and not _UNQUANTIZED.search(name)
        and not _is_unquantized(name, unquantized)
    )
    if text is not config:
        parameters = _parameters(AutoModelForMultimodalLM, config)
    return Size(linear, sum(weights.numel() for weights in parameters.values()) - linear)


def encoder_size(config: PretrainedConfig) -> int:
    """Count the parameters of an embedding model or a reranker. Raises ModelError."""
    from transformers import AutoModel

    return sum(weights.numel() for weights in _parameters(AutoModel, config).values())


def empty_model(family: type, config: PretrainedConfig) -> Module:
    """Build an architecture on a device without memory. Raises ModelError.

    `family` is one of transformers' Auto classes.
    """
    import torch

    wrong = (ArithmeticError, AssertionError, AttributeError, ImportError, LookupError)
    try:
        with torch.device("meta"):
            model: Module = family.from_config(config)  # type: ignore[attr-defined]
    except (*wrong, RuntimeError, TypeError, ValueError) as error:
        raise ModelError(
            f"no model can be built from this configuration ({type(error).__name__}:"
            f" {' '.join(str(error).split())[:120]}): check its config.json"
        ) from error
    return model


def _parameters(family: type, config: PretrainedConfig) -> dict[str, Parameter]:
    """Return the parameters of an architecture, built without weights; tied ones occur once."""
    return dict(empty_model(family, config).named_parameters())


def _is_unquantized(name: str, patterns: Sequence[str]) -> bool:
    """Tell whether a parameter is in a module that one of the patterns names.

    A pattern is as compressed-tensors, Transformers and vLLM write it: `re:.*self_attn.*`,
    `model.layers.*.self_attn`, `model.layers.0.mlp.gate`, or a part such as `o_proj`.
    """
    module = name.removesuffix(".weight")
    for pattern in patterns:
        if pattern.startswith("re:"):
            if re.match(pattern[3:], module):
                return True
        elif fnmatchcase(f".{module}.", f"*.{pattern}.*"):
            return True
    return False
