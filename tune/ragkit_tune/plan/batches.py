"""Count the rows of a step and the steps of a run as the worker will, from the rows themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ragkit_tune.worker.pair_batches import (
    SEES_BATCH,
    answers_each,
    different_rows,
    negatives_of_most,
    shared_batch,
    steps_of,
    with_negatives,
)

if TYPE_CHECKING:
    from ragkit_tune.recipe import Recipe


def fit_batch(recipe: Recipe, rows: Sequence[Mapping[str, Any]]) -> Recipe:
    """Return the recipe with the batch that its rows can fill.

    A set micro-batch becomes the largest divisor of the new batch that is no larger. Rows of which
    no batch can be made leave the recipe as it is: the worker refuses them, and says why.
    """
    batch = _batch(recipe, rows)
    if batch in {0, recipe.batch}:
        return recipe
    each = batch // recipe.gpus
    sizes = [n for n in range(1, min(recipe.micro_batch, each) + 1) if each % n == 0]
    return replace(recipe, batch=batch, micro_batch=max(sizes, default=0))


def count_steps(recipe: Recipe, rows: int) -> int:
    """Return the steps of the optimizer: as set, or by the epochs."""
    return recipe.steps or steps_of(recipe.epochs, _trained(recipe, rows), recipe.batch)


def batch_note(recipe: Recipe, fitted: Recipe, rows: int) -> list[str]:
    """Say in a line why a step has fewer rows than were asked for."""
    if fitted.batch == recipe.batch:
        return []
    rows = _trained(recipe, rows)
    if fitted.batch == shared_batch(recipe.batch, rows, recipe.gpus):
        return [f"batches of {fitted.batch} rows instead of {recipe.batch}: there are only {rows}"]
    return [
        f"batches of {fitted.batch} rows: the rows have too few different passages for"
        f" {recipe.batch}"
    ]


def _trained(recipe: Recipe, rows: int) -> int:
    """Count what an epoch trains on: the rows, or the answers that GRPO draws to each."""
    is_drawn = recipe.kind == "adapter" and recipe.method == "grpo"
    return rows * (answers_each(recipe.batch) or 1) if is_drawn else rows


def _batch(recipe: Recipe, rows: Sequence[Mapping[str, Any]]) -> int:
    whole = shared_batch(recipe.batch, _trained(recipe, len(rows)), recipe.gpus)
    if recipe.kind != "embedder" or recipe.loss not in SEES_BATCH or not whole:
        return whole
    full = [{"negatives": [], **row} for row in rows]
    count = negatives_of_most(full, recipe.negatives)
    different = different_rows(with_negatives(full, count, recipe.seed), whole)
    if different == 1:
        return whole
    return min(whole, shared_batch(recipe.batch, different, recipe.gpus)) or whole
