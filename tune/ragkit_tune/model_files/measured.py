"""What ragkit measured on a network and stores beside it: the projection and the 8-bit ranges.

They are stale as soon as the network's weights change. Only the bundled bilingual model and the
models made of it have them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from ragkit.embed.projection import load_projection

if TYPE_CHECKING:
    from torch import Tensor

_TOLERANCE: Final = 1e-4  # of float32 sums over some hundred columns


def needs_measure(folder: Path) -> bool:
    """Tell whether a folder's Dense matrix is ragkit's projection, which takes languages out.

    A trained matrix is another: the projection is symmetric and its own square.
    """
    matrix = load_projection(folder, "cpu")
    return matrix is not None and is_projection(matrix.float())


def is_projection(matrix: Tensor) -> bool:
    """Tell whether a matrix projects orthogonally onto less than the space."""
    import torch

    rows, columns = matrix.shape
    if rows != columns or not torch.allclose(matrix, matrix.T, atol=_TOLERANCE):
        return False
    rank = float(matrix.trace())
    return rank < rows - 0.5 and torch.allclose(matrix @ matrix, matrix, atol=_TOLERANCE)


def measure_again(folder: Path) -> None:
    """Compute the projection and the ranges anew, in some seconds."""
    from ragkit.embed.bundled import measure

    measure(folder)
