"""The plan's memory against what a step really takes, by the probe.

Measured on two shared cores, one thread, torch 2.13, glibc with MALLOC_MMAP_THRESHOLD_, MiB above a
process with its libraries; random weights. The formula was made before these were measured.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from ragkit.errors import ModelError, UsageError
from ragkit.model_size.hardware import GIB
from ragkit_tune.plan.fit import Choice, Target, choose
from ragkit_tune.plan.lengths import Column, Lengths
from ragkit_tune.plan.probe import probe
from ragkit_tune.plan.shape import read_shape
from ragkit_tune.recipe import Recipe, read_recipe
from tests.tune.plan.models import bert, llama

RAM: Final = Target(memory_bytes=64 * GIB, on_gpu=False)
SHAPES: Final[dict[str, tuple[dict[str, Any], str, list[int], dict[str, Any]]]] = {
    "encoder": (bert(4, 320, 40_000), "embedder", [64, 96], {}),
    "decoder, checkpointed": (
        llama(4, 320, 20_000, 1),
        "adapter",
        [96],
        {"parameters": "full", "checkpointing": "on"},
    ),
    "decoder, adapter": (llama(6, 256, 8000), "adapter", [160], {"parameters": "lora"}),
}


def make(folder: Path, config: dict[str, Any], kind: str) -> None:
    import torch
    from transformers import AutoConfig, AutoModel, AutoModelForCausalLM

    torch.manual_seed(0)
    family: Any = AutoModelForCausalLM if kind == "adapter" else AutoModel
    family.from_config(AutoConfig.for_model(**config)).save_pretrained(folder)


def planned(folder: Path, name: str, batch: int) -> tuple[Recipe, Choice, Lengths]:
    config, kind, tokens, values = SHAPES[name]
    recipe = read_recipe(
        None, kind=kind, base=str(folder), data="d", batch=batch, micro_batch=batch, **values
    )
    lengths = Lengths(batch, tuple(Column(1, (count,)) for count in tokens), counted=True)
    choice = choose(recipe, read_shape(config, kind), lengths, RAM)
    assert choice is not None
    return recipe, choice, lengths


@pytest.mark.long
@pytest.mark.parametrize("name", SHAPES)
def test_the_formula_is_within_a_quarter_and_the_probe_within_a_tenth(
    name: str, tmp_path: Path
) -> None:
    """Probe half the micro-batch, and tell the peak of the whole by it."""
    make(tmp_path, SHAPES[name][0], SHAPES[name][1])
    peaks, formulas = [], []
    for batch in (4, 8):
        recipe, choice, lengths = planned(tmp_path, name, batch)
        peaks.append(probe(recipe, choice, lengths).peak_bytes)
        formulas.append(choice.memory.peak)
    assert formulas[1] / peaks[1] == pytest.approx(1, abs=0.25)
    assert formulas[1] * peaks[0] / formulas[0] / peaks[1] == pytest.approx(1, abs=0.1)


@pytest.mark.long
def test_a_probe_that_fails_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"nothing")
    recipe, choice, lengths = planned(tmp_path, "encoder", 4)
    with pytest.raises(ModelError) as raised:
        probe(recipe, choice, lengths)
    assert str(raised.value).startswith(f"the probe of {tmp_path} failed: ")
    assert str(raised.value).endswith(
        ": set a smaller -o micro_batch or max_tokens, or plan without --probe"
    )
    assert "\n" not in str(raised.value)


def test_a_probe_for_another_device_is_refused(tmp_path: Path) -> None:
    recipe, choice, lengths = planned(tmp_path, "decoder, adapter", 4)
    four = replace(choice, training=replace(choice.training, bits=4))
    with pytest.raises(UsageError, match=r"weights of 4 bits need a GPU: set -o bits=16"):
        probe(recipe, four, lengths)
