"""A matrix that a model's folder multiplies its vectors by, as sentence-transformers keeps it.

Any other Dense module, with a bias or an activation, is `ragkit.embed.pipeline`'s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ragkit.embed.find import read_json
from ragkit.errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor

MODULE: Final = "2_Dense"  # the module's folder
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


def is_projection(folder: Path) -> bool:
    """Tell whether a folder's Dense module is nothing but a matrix."""
    settings = read_json(folder / MODULE / "config.json")
    return bool(settings) and SETTINGS.items() <= settings.items()


def load_projection(folder: Path, device: str) -> Tensor | None:
    """Read the matrix of a folder's Dense module; None where it has none. Raises ModelError."""
    file = folder / MODULE / "model.safetensors"
    if not is_projection(folder):
        return None
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(file, device=device)[_WEIGHT]
    except (SafetensorError, OSError, KeyError) as error:
        raise ModelError(
            f"{file} cannot be read ({error}): remove {folder} and get the model anew"
        ) from error


def save_projection(matrix: Tensor, folder: Path) -> None:
    """Write the matrix where `load_projection` reads it."""
    from safetensors.torch import save_file

    save_file({_WEIGHT: matrix.contiguous()}, folder / MODULE / "model.safetensors")
