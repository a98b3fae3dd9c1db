"""A plan as lines for a reader: facts, what a step holds, and which cards it fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragkit.model_size.hardware import GIB
from ragkit_tune.plan.fit import CARDS_GB
from ragkit_tune.plan.memory import trained_parameters
from ragkit_tune.plan.time import ring_bytes

if TYPE_CHECKING:
    from ragkit_tune.plan.fit import Choice
    from ragkit_tune.plan.make import Plan

CARD_COLUMNS = ("trained", "cards", *(f"{size} GB" for size in CARDS_GB))
STEP_COLUMNS = ("a step holds", "GiB")


def plan_text(plan: Plan) -> str:
    """Return the facts, the choice and the time of a plan, one a line; tables are apart."""
    return "\n".join([*_facts(plan), *_choice(plan)])


def step_rows(plan: Plan) -> list[tuple[str, str]]:
    """Return what is in memory in a step on each device, and its peak."""
    if plan.choice is None:
        return []
    memory = plan.choice.memory
    rows = [
        ("weights", memory.weights),
        ("gradients", memory.gradients),
        ("optimizer", memory.optimizer),
        ("activations", memory.activations),
        ("logits", memory.logits),
        ("working", memory.working),
        ("peak, by formula", memory.peak),
    ]
    if plan.measured:
        rows.append(("peak, after the probe", plan.peak_bytes))
    return [(name, f"{size / GIB:.2f}") for name, size in rows]


def card_rows(plan: Plan) -> list[tuple[str, ...]]:
    """Return the largest micro-batch of each strategy on each card; c is with checkpointing."""
    return [
        (
            row.strategy,
            str(row.gpus),
            *(
                f"{size}{' c' * checkpointed}" if size else "no"
                for size, checkpointed in zip(row.micro_batches, row.checkpointing, strict=True)
            ),
        )
        for row in plan.cards
    ]


def _facts(plan: Plan) -> list[str]:
    recipe, shape, target = plan.recipe, plan.shape, plan.target
    columns = ", ".join(
        f"{max(column.tokens):,}" + (f" x {column.sequences}" if column.sequences > 1 else "")
        for column in plan.lengths.columns
    )
    device = "GPU" if target.on_gpu else "processor"
    counted = f"{target.gpus} {device}s" if target.gpus > 1 else f"a {device}"
    lines = [
        f"{recipe.base}",
        f"  {shape.parameters:,} parameters, {shape.layers} layers of {shape.hidden:,}",
        f"  {plan.lengths.rows:,} rows; longest, in tokens: {columns}",
        f"  memory: {counted} with {target.usable_bytes / GIB:.1f} GiB free for tensors",
    ]
    return [*lines, *(f"  note: {note}" for note in plan.notes)]


def _choice(plan: Plan) -> list[str]:
    choice = plan.choice
    if choice is None:
        return [plan.remedy]
    training, recipe = choice.training, plan.recipe
    trained = trained_parameters(plan.shape, training)
    how = recipe.parameters if training.bits == 16 else f"{recipe.parameters}, {training.bits} bits"
    lines = [
        f"  trains {trained:,} parameters ({how})",
        f"  step: {recipe.batch} rows = {_factors(plan, choice)}"
        f"{', with checkpointing' * training.checkpointing}",
    ]
    if training.gpus > 1:
        sent = ring_bytes(trained * (2 if training.half else 4), training.gpus) / GIB
        lines.append(f"  {training.sharding}: each GPU sends about {sent:.2f} GiB a step")
    lines.append(
        f"  {plan.steps:,} steps of about {plan.step_tokens:,} tokens:"
        f" {plan.operations / 1e12:,.4g} TFLOP"
    )
    if plan.flop_per_s and plan.duration_s is not None:
        how = "probed" if plan.measured else "given"
        lines.append(
            f"  {_duration(plan.duration_s)} at {plan.flop_per_s / 1e9:,.4g} GFLOP/s ({how})"
        )
    if plan.cost.kilowatt_hours is not None:
        lines.append(f"  {plan.cost.kilowatt_hours:.3g} kWh")
    if plan.cost.price is not None:
        lines.append(f"  price: {plan.cost.price:,.2f}")
    return lines


def _factors(plan: Plan, choice: Choice) -> str:
    parts = f"{choice.micro_batch} at once"
    if choice.training.cached:
        return f"{parts} (cached)"
    if choice.accumulation > 1:
        parts += f" x {choice.accumulation} accumulated"
    return f"{parts} x {plan.target.gpus} GPUs" if plan.target.gpus > 1 else parts


def _duration(seconds: float) -> str:
    """Write a time in its largest units.

    >>> _duration(59), _duration(600), _duration(90_000)
    ('59 s', '10 min', '25.0 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
