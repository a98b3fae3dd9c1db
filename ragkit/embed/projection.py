"""A matrix that a model's folder multiplies its vectors by, as sentence-transformers keeps it.

Any other Dense module, with a bias or an activation, is `ragkit.embed.pipeline`'s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ragkit.embed.find import read_json, read_tensors

if TYPE_CHECKING:
    from torch import Tensor

PLACE: Final = 2  # of the module in the pipeline, after the network and the pooling
MODULE: Final = "2_Dense"  # its folder
SETTINGS: Final[dict[str, Any]] = {
    "bias": False,
    "activation_function": "torch.nn.modules.linear.Identity",
}
_WEIGHT: Final = "linear.weight"


@dataclass(frozen=True, slots=True)
class ProjectedEncoder:
    """Multiply an encoder's vectors (b, d) by a matrix (d, d)."""

    encoder: Callable[[Tensor, Tensor | None], Tensor]
    matrix: Tensor

    def __call__(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        return self.encoder(ids, mask) @ self.matrix.T


def has_projection(folder: Path) -> bool:
    """Tell whether a folder's pipeline has a Dense module that is nothing but a matrix."""
    modules = read_json(folder / "modules.json") or []
    if len(modules) <= PLACE or modules[PLACE]["path"] != MODULE:
        return False
    settings = read_json(folder / MODULE / "config.json")
    is_dense = bool(modules[PLACE]["type"].endswith(".Dense"))
    return is_dense and SETTINGS.items() <= settings.items()


def load_projection(folder: Path, device: str) -> Tensor | None:
    """Read the matrix of a folder's pipeline; None where it has none. Raises ModelError."""
    if not has_projection(folder):
        return None
    return read_tensors(folder / MODULE / "model.safetensors", folder, device)[_WEIGHT]


def save_projection(matrix: Tensor, folder: Path) -> None:
    """Write the matrix where `load_projection` reads it."""
    from safetensors.torch import save_file

    save_file({_WEIGHT: matrix.contiguous()}, folder / MODULE / "model.safetensors")
