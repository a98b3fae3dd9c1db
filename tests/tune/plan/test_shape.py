"""What is read of an architecture, for every one that the tests of sizes know."""

from __future__ import annotations

import pytest

from ragkit_tune.plan.shape import read_shape
from tests.core.model_size.configs import ENCODERS, KNOWN, SMALL
from tests.tune.plan.models import gpt2

PLAIN = {"falcon", "gpt2", "gpt_bigcode", "gpt_neox", "bloom", "opt", "phi", "starcoder2"}


@pytest.mark.parametrize("name", SMALL)
def test_every_architecture_has_a_shape(name: str) -> None:
    shape = read_shape(SMALL[name], "adapter")
    assert shape.gated == (name not in PLAIN)
    assert shape.layer_norms + shape.rms_norms > 0
    assert 0 < shape.linear <= shape.trunk <= shape.parameters
    assert shape.language_model


def test_the_shape_of_a_language_model() -> None:
    shape = read_shape(KNOWN["meta-llama/Llama-3.1-8B"].config, "adapter")
    assert (shape.layers, shape.hidden, shape.inner) == (32, 4096, 14336)
    assert (shape.query, shape.key, shape.heads) == (4096, 1024, 32)
    assert (shape.layer_norms, shape.rms_norms, shape.matrices) == (0, 2 * 4096, 7)
    assert shape.linear == 6_979_321_856
    assert not shape.hidden_dropout
    assert not shape.tied


def test_the_shape_of_an_encoder() -> None:
    shape = read_shape(ENCODERS["BAAI/bge-m3"].config, "embedder")
    assert (shape.layers, shape.inner, shape.matrices, shape.layer_norms) == (24, 4096, 6, 2048)
    assert shape.largest == 250_002 * 1024
    assert shape.hidden_dropout
    assert shape.attention_dropout
    assert not shape.language_model
    assert not shape.gated


def test_gpt2_writes_its_activation_function_in_four_steps() -> None:
    shape = read_shape(gpt2(2, 128, 2, 500), "adapter")
    assert (shape.activation_steps, shape.tied, shape.inner) == (4, True, 512)
    assert shape.active == shape.parameters - 1024 * 128  # the output layer is the embedding
