"""Choose how to make a step so that it fits a memory, and tabulate what fits which card."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ragkit.errors import UsageError
from ragkit.model_size.hardware import GIB
from ragkit_tune.plan.memory import Memory, Sharding, Training, step_memory

if TYPE_CHECKING:
    from ragkit_tune.plan.lengths import Lengths
    from ragkit_tune.plan.shape import Shape
    from ragkit_tune.recipe import Recipe

# The process besides the tensors: on a processor Python with its libraries, 0.39 GiB measured; on a
# GPU the context. And of a GPU's memory 5% for what its allocator cannot use. Both rounded up.
_PROCESS: Final = GIB // 2
_GPU_SHARE: Final = 0.95
CARDS_GB: Final = (24, 48, 80, 141)  # RTX 4090, L40S, A100 and H100, H200
# Losses over all rows of a batch: the worker makes them in parts by GradCache (arXiv:2101.06983).
IN_BATCH: Final = frozenset({"mnrl", "gist"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The hardware to plan for; `memory_bytes` is that of each of `gpus` devices."""

    memory_bytes: int
    on_gpu: bool
    gpus: int = 1

    @property
    def usable_bytes(self) -> int:
        """Return what is left for tensors."""
        share = _GPU_SHARE if self.on_gpu else 1.0
        return max(0, round(self.memory_bytes * share) - _PROCESS)


@dataclass(frozen=True, slots=True)
class Choice:
    """A way to make a step, and its memory; `micro_batch` rows at once on each device."""

    training: Training
    micro_batch: int
    accumulation: int
    memory: Memory


@dataclass(frozen=True, slots=True)
class CardRow:
    """A strategy on some cards: the largest micro-batch that fits each size of card, 0 for none."""

    strategy: str
    gpus: int
    micro_batches: tuple[int, ...]
    checkpointing: tuple[bool, ...]


def check_recipe(recipe: Recipe, gpus: int) -> None:
    """Raise UsageError where a recipe's values contradict one another."""
    if recipe.parameters == "full" and recipe.bits < 16:
        raise UsageError(
            f"bits = {recipe.bits} goes with adapters only: set -o parameters=lora, or -o bits=16"
        )
    if recipe.batch % gpus:
        raise UsageError(
            f"a batch of {recipe.batch} rows cannot be shared by {gpus} GPUs: set -o batch to"
            " a multiple"
        )
    if recipe.micro_batch and recipe.batch // gpus % recipe.micro_batch:
        raise UsageError(
            f"micro_batch = {recipe.micro_batch} does not divide the {recipe.batch // gpus} rows of"
            " a step on each device: leave it out, or set a number that does"
        )


def first_training(recipe: Recipe, target: Target, *, references: int = 0) -> Training:
    """Return how a recipe trains before anything is chosen."""
    auto = "bf16" if target.on_gpu else "fp32"
    precision = auto if recipe.precision == "auto" else recipe.precision
    return Training(
        half=precision != "fp32",
        on_gpu=target.on_gpu,
        parameters=recipe.parameters,
        bits=recipe.bits,
        rank=recipe.rank,
        optimizer=recipe.optimizer,
        cached=recipe.loss == "cached-mnrl",
        pooled=recipe.kind == "embedder",
        wide_frozen=recipe.kind in {"embedder", "reranker"},
        gpus=target.gpus,
        references=references,
    )


def choose(
    recipe: Recipe,
    shape: Shape,
    lengths: Lengths,
    target: Target,
    *,
    references: int = 0,
    scale: float = 1.0,
) -> Choice | None:
    """Return the first choice that fits, from the fastest to the smallest; None when none does.

    Sharding comes after smaller micro-batches and checkpointing, and 4 bits come last. `scale` is
    what a probe measured, divided by the formula.
    """
    first = first_training(recipe, target, references=references)
    for bits in dict.fromkeys([recipe.bits, *([4] if may_quantize(recipe, target) else [])]):
        for sharding in shardings(recipe, target.gpus, bits):
            training = replace(first, bits=bits, sharding=sharding)
            for choice in choices(recipe, shape, lengths, training):
                if choice.memory.peak * scale <= target.usable_bytes:
                    return choice
    return None


def choices(recipe: Recipe, shape: Shape, lengths: Lengths, training: Training) -> Iterator[Choice]:
    """Yield the micro-batches without and with checkpointing, as far as the recipe leaves them.

    Checkpointing takes a third more time, and comes last. A loss over all rows of a batch is made
    in parts for as much, so there checkpointing comes first.
    """
    rows = recipe.batch // training.gpus
    sizes = [recipe.micro_batch] if recipe.micro_batch else _halves(rows)
    allowed = {"on": [True], "off": [False]}.get(recipe.checkpointing, [False, True])
    pairs = [(size, on) for on in allowed for size in sizes]
    if recipe.loss in IN_BATCH:
        pairs = [(size, on) for size in sizes for on in allowed]
    for size, on in pairs:
        cached = training.cached or (recipe.loss in IN_BATCH and size < rows)
        accumulation = 1 if cached else rows // size
        way = replace(training, checkpointing=on, accumulated=accumulation > 1, cached=cached)
        memory = step_memory(shape, way, lengths.longest(size))
        yield Choice(way, size, accumulation, memory)


def table(recipe: Recipe, shape: Shape, lengths: Lengths) -> list[CardRow]:
    """Return what fits 24, 48, 80 and 141 GB, on 1, 2 and 8 cards, for each strategy."""
    free = replace(recipe, micro_batch=0, checkpointing="auto")
    return [
        _card_row(free, shape, lengths, name, gpus)
        for gpus in (1, 2, 8)
        for name in _strategies(recipe, gpus)
    ]


def _strategies(recipe: Recipe, gpus: int) -> Sequence[str]:
    quantized = recipe.kind in {"adapter", "reward"}
    if gpus == 1:
        return ("full", "lora", *(("lora 4 bits",) if quantized else ()))
    full = [f"full {name}" for name in ("ddp", "zero1", "zero2", "zero3", "fsdp")]
    return (*full, "lora ddp", "lora fsdp", *(("lora 4 bits ddp",) if quantized else ()))


def _card_row(recipe: Recipe, shape: Shape, lengths: Lengths, strategy: str, gpus: int) -> CardRow:
    words = strategy.split()
    parameters, bits = words[0], 4 if "bits" in words else 16
    sharding: Sharding = words[-1] if gpus > 1 else "ddp"  # type: ignore[assignment]
    batch = max(gpus, recipe.batch // gpus * gpus)
    changed = replace(recipe, parameters=parameters, bits=bits, batch=batch)  # type: ignore[arg-type]
    sizes, checkpointing = [], []
    for card in CARDS_GB:
        target = Target(memory_bytes=round(card * GIB * 0.99), on_gpu=True, gpus=gpus)
        training = replace(first_training(changed, target), sharding=sharding)
        fitting = [
            choice
            for choice in choices(changed, shape, lengths, training)
            if choice.memory.peak <= target.usable_bytes
        ]
        best = max(
            fitting, key=lambda c: (c.micro_batch, not c.training.checkpointing), default=None
        )
        sizes.append(best.micro_batch if best else 0)
        checkpointing.append(bool(best and best.training.checkpointing))
    return CardRow(strategy, gpus, tuple(sizes), tuple(checkpointing))


def may_quantize(recipe: Recipe, target: Target) -> bool:
    """Tell whether the plan may take 4 bits where more do not fit."""
    return target.on_gpu and recipe.parameters == "lora" and recipe.kind in {"adapter", "reward"}


def shardings(recipe: Recipe, gpus: int, bits: int) -> Sequence[Sharding]:
    """Return what may be tried: weights of 4 or 8 bits are loaded whole on each card."""
    if gpus == 1:
        return ("ddp",)
    if recipe.sharding == "auto":
        return ("ddp", "fsdp") if bits == 16 else ("ddp",)
    return (recipe.sharding,)


def _halves(rows: int) -> list[int]:
    """Return the divisors of a number of rows that are halves of one another, then 1.

    >>> _halves(12)
    [12, 6, 3, 1]
    """
    sizes = [rows]
    while sizes[-1] % 2 == 0:
        sizes.append(sizes[-1] // 2)
    return list(dict.fromkeys([*sizes, math.gcd(rows, 1)]))
