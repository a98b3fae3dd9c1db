"""Set the smallest weights, or the weakest heads, of the layers to zero.

Zeros make no file smaller and no processor faster: they show what a network can spare, and are
where a recovery run begins.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, get_args

from ragkit.errors import ModelError, UsageError
from ragkit_tune.model_files.tensors import FLOATS
from ragkit_tune.shrink.draft import Draft, layer_config

if TYPE_CHECKING:
    from torch import Tensor

Scope = Literal["global", "layer"]
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
ZEROS: Final = (
    "Zeros make the model neither smaller nor faster: train it again to recover"
    " (`ragkit tune embedder --base`), or compress it"
)
_LAYER: Final = re.compile(r"(?:.*\.)?(?:layers?|h|blocks?)\.\d{1,4}\..+")
_MIXERS: Final = ("attention.output.dense.weight", "self_attn.o_proj.weight")
_HIGH_BITS: Final = 16
_LOW: Final = (1 << _HIGH_BITS) - 1


def zero_smallest(draft: Draft, share: float, scope: Scope) -> Draft:
    """Return the draft with this share of its layers' matrices set to zero, the smallest first.

    The threshold is one for all matrices, or one for each (`scope` "layer"). Equal magnitudes go
    together, so that the share is at most this one. Raises UsageError, ModelError.
    """
    if not 0 < share < 1:
        raise UsageError(f"--magnitude {share:g} is not between 0 and 1: name a share, as 0.3")
    names = _matrices(draft)
    read = draft.read
    shared = _threshold(names, draft, share) if scope == "global" else None

    def zeroed(name: str) -> Tensor:
        tensor = read(name)
        if name not in names:
            return tensor
        limit = _threshold([name], draft, share) if shared is None else shared
        return tensor.masked_fill(_magnitudes(tensor) < limit, 0)

    note = f"The {share:.0%} smallest weights of {len(names)} matrices are zero ({scope})"
    return replace(draft, read=zeroed, is_network_new=True, notes=(*draft.notes, note, ZEROS))


def zero_heads(draft: Draft, count: int) -> Draft:
    """Return the draft with each layer's weakest attention heads set to zero.

    A head's strength is the length of its columns in the matrix that mixes the heads. Raises
    UsageError, ModelError.
    """
    heads = layer_config(draft.settings("config.json")).get("num_attention_heads")
    names = {name for name in draft.table if name.endswith(_MIXERS)}
    if not isinstance(heads, int) or not names:
        raise ModelError(
            f"model {draft.parent.name} has no attention heads of a known name: leave --heads out"
        )
    if not 1 <= count < heads:
        raise UsageError(
            f"--heads {count}: {draft.parent.name} has {heads} heads a layer: name 1 to {heads - 1}"
        )
    read = draft.read

    def zeroed(name: str) -> Tensor:
        tensor = read(name)
        return _without_heads(tensor, heads, count) if name in names else tensor

    note = f"The {count} weakest of {heads} heads are zero in each of {len(names)} layers"
    return replace(draft, read=zeroed, is_network_new=True, notes=(*draft.notes, note, ZEROS))


def _without_heads(mixer: Tensor, heads: int, count: int) -> Tensor:
    """Set the columns (o, heads * d) of the shortest heads to zero."""
    columns = mixer.view(mixer.shape[0], heads, -1).clone()
    lengths = columns.float().pow(2).sum((0, 2))
    columns[:, lengths.argsort()[:count]] = 0
    return columns.view(mixer.shape)


def _matrices(draft: Draft) -> list[str]:
    names = [
        name
        for name, stored in draft.table.items()
        if len(stored.shape) == 2 and stored.dtype in FLOATS and _LAYER.fullmatch(name)
    ]
    if not names:
        raise ModelError(
            f"model {draft.parent.name} has no layers of a known name: leave --magnitude out"
        )
    return names


def _threshold(names: Sequence[str], draft: Draft, share: float) -> int:
    """Find the magnitude below which a share of the weights lies, reading each matrix twice.

    The bits of a positive float32, read as an integer, are in the order of the numbers: the first
    pass counts by the upper 16 bits, the second by the lower ones of those on the edge.
    """
    import torch

    high = torch.zeros(1 << _HIGH_BITS, dtype=torch.int64)
    for name in names:
        bits = _magnitudes(draft.read(name)).flatten()
        high += torch.bincount(bits >> _HIGH_BITS, minlength=len(high))
    rank = int(share * int(high.sum()))
    edge, below = _edge(high, rank)
    low = torch.zeros(1 << _HIGH_BITS, dtype=torch.int64)
    for name in names:
        bits = _magnitudes(draft.read(name)).flatten()
        low += torch.bincount(bits[bits >> _HIGH_BITS == edge] & _LOW, minlength=len(low))
    place, _ = _edge(low, rank - below)
    return (edge << _HIGH_BITS) + place


def _edge(counts: Tensor, rank: int) -> tuple[int, int]:
    """Return the first place up to which more than `rank` are counted, and how many lie before.

    >>> import torch
    >>> _edge(torch.tensor([2, 3, 4]), 4)
    (1, 2)
    """
    sums = counts.cumsum(0)
    place = int((sums > rank).int().argmax())
    return place, int(sums[place] - counts[place])


def _magnitudes(tensor: Tensor) -> Tensor:
    """Return the magnitudes' bits as integers in the numbers' order."""
    import torch

    return tensor.float().abs().contiguous().view(torch.int32).long()
