"""Write a draft as a model folder: weights, settings, what is measured on them, the card."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ragkit_tune.model_files.card import (
    Card,
    describe_parent,
    licence_notes,
    weight_bytes,
    weight_files,
    write_card,
)
from ragkit_tune.model_files.folder import (
    carry_files,
    copy_file,
    has_ranges,
    new_folder,
    write_json,
)
from ragkit_tune.model_files.measured import measure_again, needs_measure
from ragkit_tune.model_files.tensors import RANGES, WEIGHTS, write_tensors
from ragkit_tune.shrink.draft import Draft

if TYPE_CHECKING:
    from ragkit.embed.find import ModelFiles

_CHECKED: Final = "check.ids"  # of `ragkit.embed.int8`: token numbers


def write_draft(
    draft: Draft,
    out: Path,
    *,
    made_by: str,
    settings: Mapping[str, Any],
    finish: Callable[[Path], Sequence[str]] = lambda folder: (),
) -> Card:
    """Write the draft to `out`, which must not exist, and return its card.

    `finish` changes the written folder before it is moved to its place, and returns notes. Raises
    UsageError, ModelError.
    """
    parent = draft.parent
    with new_folder(out, draft.bytes) as folder:
        carry_files(parent, folder, draft.stale)
        for name, content in draft.files.items():
            write_json(folder / name, content)
        write_tensors(folder / WEIGHTS, draft.table, draft.read)
        for file in weight_files(parent.folder):
            if file.parent != parent.folder:  # of a module behind the network
                copy_file(file, folder / file.parent.name / file.name)
        notes = [*draft.notes, *_measured(draft, folder), *finish(folder)]
        described = describe_parent(parent)
        notes += licence_notes([described])
        sizes = weight_bytes(parent.folder), weight_bytes(folder)
        card = Card(made_by, settings, [described], notes, *sizes)
        write_card(card, folder, out.name)
    return card


def _measured(draft: Draft, folder: Path) -> list[str]:
    """Carry what was measured on the network, measure it again, or say that it is left out."""
    if not draft.is_network_new:
        if has_ranges(draft.parent.folder):
            _carry_ranges(draft.parent, folder, draft.numbers)
        return []
    if needs_measure(folder):
        measure_again(folder)
        return ["Projection and 8-bit ranges are measured on the new weights"]
    if has_ranges(draft.parent.folder):
        return ["The parent's 8-bit ranges are not carried: ragkit computes in floating point"]
    return []


def _carry_ranges(parent: ModelFiles, folder: Path, numbers: Mapping[int, int] | None) -> None:
    """Copy the ranges, their check written with the tokens' new numbers."""
    import torch
    from safetensors.torch import load_file, save_file

    tensors = load_file(parent.folder / RANGES)
    if numbers is not None and _CHECKED in tensors:
        ids = tensors[_CHECKED]
        renumbered = [numbers[number] for number in ids.flatten().tolist()]
        tensors[_CHECKED] = torch.tensor(renumbered, dtype=ids.dtype).view(ids.shape)
    save_file(tensors, folder / RANGES)
