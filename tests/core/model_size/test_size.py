"""Parameters against published figures and the modules of every architecture."""

from __future__ import annotations

import pytest

from ragkit.model_size.config import parse_config
from ragkit.model_size.size import encoder_size, model_size
from tests.core.model_size.configs import ENCODERS, KNOWN, SMALL

LLAMA = KNOWN["meta-llama/Llama-3.1-8B"].config


@pytest.mark.parametrize("name", KNOWN)
def test_parameters_are_those_published(name: str) -> None:
    known = KNOWN[name]
    counted = model_size(parse_config(known.config)).parameters
    if known.exact:
        assert counted == known.parameters
    else:
        assert counted == pytest.approx(known.parameters, rel=0.005)


@pytest.mark.parametrize("name", ENCODERS)
def test_encoders_are_as_large_as_published(name: str) -> None:
    assert encoder_size(parse_config(ENCODERS[name].config)) == ENCODERS[name].parameters


@pytest.mark.parametrize(
    ("left", "linear"),
    [
        ((), 32 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336)),
        (("lm_head", "re:.*embed_tokens"), 32 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 176_160_768)),
        (("re:.*self_attn.*",), 32 * 176_160_768),
        (("self_attn",), 32 * 176_160_768),
        (("model.layers.0.mlp.down_proj",), 6_979_321_856 - 4096 * 14336),
        (("model.layers.1",), 31 * 218_103_808),  # and not layers 10 to 19
    ],
)
def test_what_is_left_alone_is_not_made_smaller(left: tuple[str, ...], linear: int) -> None:
    size = model_size(parse_config(LLAMA), unquantized=left)
    assert (size.linear, size.parameters) == (linear, 8_030_261_248)


@pytest.mark.parametrize("name", SMALL)
def test_the_linear_layers_are_found_in_every_architecture(name: str) -> None:
    """Compare with the modules that are linear layers, wherever they stand."""
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.pytorch_utils import Conv1D

    config = parse_config(SMALL[name]).get_text_config()
    size = model_size(config)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)  # type: ignore[no-untyped-call]
    head = model.get_output_embeddings()
    plain = sum(
        module.weight.numel()
        for path, module in model.named_modules()
        if isinstance(module, torch.nn.Linear | Conv1D)
        and module is not head
        and not path.endswith(("mlp.gate", "shared_expert_gate", "per_layer_model_projection"))
    )
    stacked = sum(
        weights.numel()
        for path, weights in model.named_parameters()
        if ".experts." in path and weights.dim() == 3
    )
    assert size.linear == plain + stacked > 0
    assert size.parameters == model.num_parameters()
