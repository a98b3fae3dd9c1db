"""What is chosen so that a step fits, and in which order."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragkit.errors import UsageError
from ragkit.model_size.hardware import GIB
from ragkit_tune.plan.fit import Choice, Target, check_recipe, choose, table
from ragkit_tune.plan.lengths import Column, Lengths
from ragkit_tune.plan.shape import Shape, read_shape
from ragkit_tune.recipe import Recipe, read_recipe
from tests.core.model_size.configs import KNOWN
from tests.tune.plan.models import bert

PAIRS = Lengths(1000, (Column(1, (32,)), Column(1, (256,))), counted=True)
CHAT = Lengths(1000, (Column(1, (1024,)),), counted=True)


@cache
def llama() -> Shape:
    return read_shape(KNOWN["meta-llama/Llama-3.1-8B"].config, "adapter")


@cache
def small() -> Shape:
    return read_shape(bert(6, 384, 30522), "embedder")


def recipe(kind: str, **values: Any) -> Recipe:
    return read_recipe(None, kind=kind, base="m", data="d", **values)


def way(choice: Choice | None) -> tuple[int, int, bool, int, str]:
    assert choice is not None
    how = choice.training
    return choice.micro_batch, choice.accumulation, how.checkpointing, how.bits, how.sharding


def card(gigabytes: float, gpus: int = 1) -> Target:
    return Target(memory_bytes=int(gigabytes * GIB), on_gpu=True, gpus=gpus)


def test_a_large_memory_takes_the_batch_as_it_is() -> None:
    assert way(choose(recipe("embedder"), small(), PAIRS, card(24))) == (32, 1, False, 16, "ddp")


def test_a_loss_over_the_batch_is_checkpointed_before_it_is_divided() -> None:
    fits = [card(gb / 10) for gb in range(11, 40)]
    chosen = [choose(recipe("embedder"), small(), PAIRS, target) for target in fits]
    ways = list(dict.fromkeys(way(c)[:3] for c in chosen if c))
    assert ways[-2:] == [(32, 1, True), (32, 1, False)]


def test_another_loss_is_divided_before_it_is_checkpointed() -> None:
    chat = recipe("adapter", parameters="lora", batch=32)
    assert way(choose(chat, llama(), CHAT, card(80))) == (4, 8, False, 16, "ddp")
    assert way(choose(chat, llama(), CHAT, card(24)))[2:] == (True, 16, "ddp")


def test_four_bits_come_last() -> None:
    chat = recipe("adapter", parameters="lora", batch=32)
    assert way(choose(chat, llama(), CHAT, card(16)))[3] == 4
    assert choose(chat, llama(), CHAT, card(4)) is None
    full = recipe("adapter", batch=32, parameters="full")
    assert choose(full, llama(), CHAT, card(80)) is None


def test_several_cards_share_what_one_could_not_hold() -> None:
    full = recipe("adapter", batch=32, gpus=8, parameters="full")
    assert way(choose(full, llama(), CHAT, card(80, 8)))[4] == "fsdp"
    zero = choose(replace(full, sharding="zero3"), llama(), CHAT, card(80, 8))
    assert way(zero)[4] == "zero3"
    assert choose(replace(full, sharding="ddp"), llama(), CHAT, card(80, 8)) is None


def test_weights_of_four_bits_are_not_shared() -> None:
    chat = recipe("adapter", parameters="lora", batch=32, gpus=2, bits=4)
    assert choose(chat, llama(), CHAT, card(8, 2)) is None
    assert choose(replace(chat, sharding="fsdp"), llama(), CHAT, card(8, 2)) is not None


def test_the_recipe_has_the_last_word() -> None:
    fixed = recipe("adapter", parameters="lora", batch=32, micro_batch=2, checkpointing="off")
    assert way(choose(fixed, llama(), CHAT, card(80)))[:3] == (2, 16, False)
    assert choose(fixed, llama(), CHAT, card(20)) is None


def test_a_measured_peak_counts_more_than_the_formula() -> None:
    whole = choose(recipe("embedder"), small(), PAIRS, card(24))
    twentyfold = choose(recipe("embedder"), small(), PAIRS, card(24), scale=20.0)
    assert whole is not None
    assert twentyfold is not None
    assert twentyfold.memory.peak * 20 <= card(24).usable_bytes < whole.memory.peak * 20


@settings(deadline=None, max_examples=40)
@given(memory_gib=st.floats(1, 150), gpus=st.sampled_from([1, 2, 4, 8]), more=st.floats(0.1, 100))
def test_what_is_chosen_fits_and_keeps_the_batch(memory_gib: float, gpus: int, more: float) -> None:
    chat = recipe("adapter", parameters="lora", batch=32, gpus=gpus)
    target = card(memory_gib, gpus)
    choice = choose(chat, llama(), CHAT, target)
    if choice is None:
        return
    assert choice.memory.peak <= target.usable_bytes
    assert choice.micro_batch * choice.accumulation * gpus == 32
    assert choose(chat, llama(), CHAT, card(memory_gib + more, gpus)) is not None


def test_the_table_of_cards() -> None:
    rows = {
        (row.strategy, row.gpus): row.micro_batches
        for row in table(recipe("adapter", batch=16, parameters="lora"), llama(), CHAT)
    }
    assert len(rows) == 3 + 8 + 8
    assert rows["full", 1] == (0, 0, 0, 0)
    assert rows["full ddp", 8] == (0, 0, 0, 0)
    assert rows["full fsdp", 8] == (2, 2, 2, 2)
    assert rows["lora", 1][0] > 0
    assert rows["lora 4 bits", 1][0] >= rows["lora", 1][0]
    for sizes in rows.values():
        assert list(sizes) == sorted(sizes)


def test_values_that_contradict_one_another_are_one_line() -> None:
    with pytest.raises(UsageError, match=r"bits = 4 goes with adapters only: set -o parameters"):
        check_recipe(recipe("adapter", bits=4, parameters="full"), 1)
    with pytest.raises(UsageError, match=r"a batch of 32 rows cannot be shared by 3 GPUs"):
        check_recipe(recipe("embedder"), 3)
    with pytest.raises(UsageError, match=r"micro_batch = 5 does not divide the 32 rows"):
        check_recipe(recipe("embedder", micro_batch=5), 1)
