"""How many parameters a model has, and which of them quantization makes smaller.

Counted on the very architecture that transformers builds, on a device without memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragkit.errors import ModelError

if TYPE_CHECKING:
    from transformers import PretrainedConfig


@dataclass(frozen=True, slots=True)
class Size:
    """Numbers of parameters: of the linear layers, which can be quantized, and of the rest.

    The rest are embeddings, the output layer, norms and routers, kept at 16 bits by AWQ, GPTQ,
    FP8 and INT8 checkpoints alike.
    """

    linear: int
    rest: int

    @property
    def parameters(self) -> int:
        """The number that model cards publish; tied weights count once."""
        return self.linear + self.rest


def language_model_size(config: PretrainedConfig) -> Size:
    """Count a causal language model's parameters. Raises ModelError for what is none."""
    from transformers import AutoModelForCausalLM

    return _size(AutoModelForCausalLM, config)


def encoder_size(config: PretrainedConfig) -> Size:
    """Count the parameters of an embedding model or a reranker. Raises ModelError."""
    from transformers import AutoModel

    return _size(AutoModel, config)


def _size(family: type, config: PretrainedConfig) -> Size:
    import torch

    try:
        with torch.device("meta"):
            model = family.from_config(config)  # type: ignore[attr-defined]
    except (ValueError, TypeError, KeyError, AttributeError, ZeroDivisionError) as error:
        raise ModelError(
            f"no model can be built from this configuration ({type(error).__name__}:"
            f" {' '.join(str(error).split())[:120]}): check its config.json"
        ) from error
    named = dict(model.named_parameters())  # tied weights once
    linear = sum(
        weights.numel()
        for name, weights in named.items()
        # Matrices of layers, and of experts, which are stacked; not what stands around the layers.
        if weights.dim() in {2, 3} and ".layers." in name and not _stays(name)
    )
    return Size(linear, sum(weights.numel() for weights in named.values()) - linear)


def _stays(name: str) -> bool:
    """Tell whether quantization leaves a matrix of a layer alone: the routers of experts."""
    return name.endswith(("mlp.gate.weight", "router.weight"))
