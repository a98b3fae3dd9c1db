"""The arithmetic of a merge, tensor by tensor; which models it is applied to is not known here.

Every formula gives the model itself, bit for bit, where all models are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from torch import Tensor

# Above it, the directions are so near that sin(angle) rounds badly: mergekit's threshold, too.
_NEARLY_PARALLEL: Final = 0.9995


def linear(tensors: Sequence[Tensor], weights: Sequence[float]) -> Tensor:
    """Return the weighted mean: sum w_i A_i / sum w_i (Wortsman et al. 2022, arXiv:2203.05482).

    Written as A_0 + sum w_i (A_i - A_0), with weights of sum 1.
    """
    total = sum(weights)
    mean = tensors[0].clone()
    for tensor, weight in zip(tensors[1:], weights[1:], strict=True):
        mean.add_(tensor - tensors[0], alpha=weight / total)
    return mean


def slerp(first: Tensor, second: Tensor, t: float) -> Tensor:
    """Return the point at `t` between two tensors on the arc of their directions.

    sin((1-t) o) / sin(o) A + sin(t o) / sin(o) B with o the angle between A and B as vectors
    (Shoemake 1985, doi:10.1145/325165.325242); the straight line where they are parallel,
    opposite, or one is zero.
    """
    import torch

    lengths = first.norm() * second.norm()
    cosine = float((first * second).sum() / lengths) if float(lengths) > 0 else 1.0
    if abs(cosine) > _NEARLY_PARALLEL:
        return torch.lerp(first, second, t)
    angle = torch.arccos(torch.tensor(cosine, dtype=torch.float64))
    sine = torch.sin(angle)
    shares = [float(torch.sin(part * angle) / sine) for part in (1 - t, t)]
    return (first * shares[0]).add_(second, alpha=shares[1])


def add_tasks(base: Tensor, tensors: Sequence[Tensor], weights: Sequence[float]) -> Tensor:
    """Return base + sum w_i (A_i - base): task arithmetic (Ilharco et al. 2022, arXiv:2212.04089).

    A negative weight takes a task away.
    """
    result = base.clone()
    for tensor, weight in zip(tensors, weights, strict=True):
        result.add_(tensor - base, alpha=weight)
    return result
