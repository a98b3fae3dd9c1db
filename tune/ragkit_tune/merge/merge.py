"""Merge models: check that they fit, compute tensor by tensor, write the folder and its card.

The rest of mergekit's methods is mergekit's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from ragkit.embed.find import ModelFiles
from ragkit.errors import UsageError
from ragkit_tune.merge.compare import require_equal_settings, require_equal_tensors
from ragkit_tune.merge.methods import add_tasks, linear, slerp
from ragkit_tune.model_files.card import (
    Card,
    describe_parent,
    licence_notes,
    weight_bytes,
    write_card,
)
from ragkit_tune.model_files.folder import (
    carry_files,
    find_parent,
    has_ranges,
    module_folders,
    new_folder,
    write_json,
)
from ragkit_tune.model_files.measured import measure_again, needs_measure
from ragkit_tune.model_files.tensors import (
    FLOATS,
    INDEX,
    Stored,
    TensorFolder,
    is_finite,
    open_tensors,
    write_tensors,
)

if TYPE_CHECKING:
    from torch import Tensor

Method = Literal["linear", "slerp", "task"]
METHODS: Final[tuple[Method, ...]] = get_args(Method)
_DEFAULT_T: Final = 0.5


@dataclass(frozen=True, slots=True)
class MergeOptions:
    """What is merged: models by folder or name, a weight for each, `t` of slerp, `base` of task.

    No weights are equal ones; of task arithmetic, 1 for each.
    """

    models: tuple[str, ...]
    method: Method
    weights: tuple[float, ...] = ()
    t: float | None = None
    base: str | None = None


@dataclass(frozen=True, slots=True)
class _Formula:
    """A method with its numbers; the base stands last among the tensors of task arithmetic."""

    method: Method
    weights: tuple[float, ...]
    t: float

    def __call__(self, tensors: Sequence[Tensor]) -> Tensor:
        if self.method == "linear":
            return linear(tensors, self.weights)
        if self.method == "slerp":
            return slerp(tensors[0], tensors[1], self.t)
        return add_tasks(tensors[-1], tensors[:-1], self.weights)


def merge_models(options: MergeOptions, out: Path) -> Card:
    """Write the merged model to `out`, which must not exist, and return its card.

    Computed in float32, stored in the first model's number format and files. Raises UsageError for
    options or models that do not fit, ModelError for a model or a disk that cannot be used.
    """
    formula = _formula(options)
    names = [*options.models, *([options.base] if options.base else [])]
    parents = [find_parent(name) for name in names]
    first_files, first = parents[0]
    for _, tensors in parents[1:]:
        require_equal_tensors(first, tensors)
        require_equal_settings(first, tensors)
    with new_folder(out, first.bytes) as folder:
        carry_files(first_files, folder)
        for place in ("", *module_folders(first.folder)):
            _merge_folder([files for files, _ in parents], place, folder, formula)
        notes = _notes([files for files, _ in parents], folder)
        card = _card(options, formula, [files for files, _ in parents], folder, notes)
        write_card(card, folder, out.name)
    return card


def _formula(options: MergeOptions) -> _Formula:
    """Check the options against the method. Raises UsageError."""
    method, count = options.method, len(options.models)
    if method not in METHODS:
        raise UsageError(f"--method {method} is unknown: choose one of {', '.join(METHODS)}")
    if count < (1 if method == "task" else 2) or (method == "slerp" and count != 2):
        needed = {"linear": "two models or more", "slerp": "two models", "task": "a model or more"}
        raise UsageError(f"--method {method} merges {needed[method]}: {count} are named")
    if (options.base is None) == (method == "task"):
        reason = "needs --base MODEL" if method == "task" else "takes no --base"
        raise UsageError(f"--method {method} {reason}: task arithmetic alone adds to a base")
    if method == "slerp" and options.weights:
        raise UsageError("--method slerp takes no --weights: name the place between both by --t")
    if method != "slerp" and options.t is not None:
        raise UsageError(f"--method {method} takes no --t: give --weights")
    weights = options.weights or (1.0,) * count
    if len(weights) != count or not all(map(math.isfinite, weights)):
        raise UsageError(
            f"--weights {','.join(f'{weight:g}' for weight in weights)}: give a number for each of"
            f" the {count} models"
        )
    if method == "linear" and (min(weights) < 0 or sum(weights) <= 0):
        raise UsageError("--weights of a mean are 0 or more, and one above 0: change them")
    t = _DEFAULT_T if options.t is None else options.t
    if not 0 <= t <= 1:
        raise UsageError(f"--t {t:g} is not between 0 (the first model) and 1 (the second)")
    return _Formula(method, weights, t)


def _merge_folder(parents: Sequence[ModelFiles], place: str, out: Path, formula: _Formula) -> None:
    """Merge the weights in one folder of the models, if it has any, into the same files."""
    if place and not any((parents[0].folder / place).glob("*.safetensors")):
        return
    folders = [open_tensors(files.folder / place, files.name) for files in parents]
    first = folders[0]
    for folder in folders[1:]:
        require_equal_tensors(first, folder)

    def read(name: str) -> Tensor:
        return _merge_tensor(name, folders, formula)

    by_file: dict[str, dict[str, Stored]] = {}
    for name, stored in first.table.items():
        by_file.setdefault(stored.file, {})[name] = stored
    for file, table in by_file.items():
        write_tensors(out / place / file, table, read)
    if len(by_file) > 1:
        places = {name: stored.file for name, stored in sorted(first.table.items())}
        index = {"metadata": {"total_size": first.bytes}, "weight_map": places}
        write_json(out / place / INDEX, index)


def _merge_tensor(name: str, folders: Sequence[TensorFolder], formula: _Formula) -> Tensor:
    """Compute one tensor in float32, or in float64 where it is stored so. Raises UsageError."""
    import torch

    tensors = [folder.read(name) for folder in folders]
    dtype = tensors[0].dtype
    if folders[0].table[name].dtype not in FLOATS:
        for tensor, folder in zip(tensors[1:], folders[1:], strict=True):
            if not torch.equal(tensors[0], tensor):
                raise UsageError(
                    f"the models cannot be merged: {name}, of whole numbers, differs in"
                    f" {folder.model}: merge models tuned from the same base"
                )
        return tensors[0]
    wide = torch.promote_types(dtype, torch.float32)
    merged = formula([tensor.to(wide) for tensor in tensors]).to(dtype)
    if not is_finite(merged):
        raise UsageError(f"{name} overflows {dtype} when merged: take smaller weights")
    return merged


def _notes(parents: Sequence[ModelFiles], folder: Path) -> list[str]:
    """Measure anew what all parents have measured; a mean of projections is none."""
    if all(needs_measure(files.folder) for files in parents):
        measure_again(folder)
        return ["Projection and 8-bit ranges are measured on the merged weights"]
    if has_ranges(parents[0].folder):
        return ["The parents' 8-bit ranges are not carried: ragkit computes in floating point"]
    return []


def _card(
    options: MergeOptions,
    formula: _Formula,
    parents: Sequence[ModelFiles],
    folder: Path,
    notes: Sequence[str],
) -> Card:
    shares = list[float | None](formula.weights)
    settings: dict[str, Any] = {"method": options.method}
    if options.method == "linear":
        total = sum(formula.weights)
        shares = [weight / total for weight in formula.weights]
    elif options.method == "slerp":
        settings["t"] = formula.t
        shares = [1 - formula.t, formula.t]
    else:
        settings["base"] = options.base
        shares.append(None)
    described = [
        describe_parent(files, share) for files, share in zip(parents, shares, strict=True)
    ]
    return Card(
        "merge",
        settings,
        described,
        [*notes, *licence_notes(described)],
        weight_bytes(parents[0].folder),
        weight_bytes(folder),
    )
