"""How a cost grows with the chunks: the exponent of a power law, by least squares on logarithms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Fit:
    """cost = c * chunks ** exponent: the exponent, its standard error, and R²; both need more than
    two sizes.
    """

    exponent: float
    error: float | None
    r2: float | None


def fit(costs: Mapping[int, float]) -> Fit:
    """Fit a power law through the costs by number of chunks; at least two sizes.

    >>> round(fit({10: 2.0, 100: 20.0, 1000: 200.0}).exponent, 6)
    1.0
    >>> fit({10: 3.0, 1000: 30.0})
    Fit(exponent=0.5, error=None, r2=None)
    """
    x, y = np.log(list(costs)), np.log(list(costs.values()))
    spread = float(((x - x.mean()) ** 2).sum())
    exponent = float(((x - x.mean()) * (y - y.mean())).sum() / spread)
    if len(costs) < 3:
        return Fit(round(exponent, 9), None, None)
    left = float(((y - y.mean() - exponent * (x - x.mean())) ** 2).sum())
    whole = float(((y - y.mean()) ** 2).sum())
    error = (left / (len(costs) - 2) / spread) ** 0.5
    return Fit(exponent, error, 1 - left / whole if whole else 1.0)


def growth(costs: Mapping[str, Mapping[int, float]]) -> str:
    """Tabulate how what was measured at two sizes or more grows; empty when nothing was."""
    rows = []
    for name, by_size in costs.items():
        if len(by_size) < 2:
            continue
        found = fit(by_size)
        error = "" if found.error is None else f" ± {found.error:.2f}"
        r2 = "two sizes" if found.r2 is None else f"{found.r2:.3f}"
        sizes = ", ".join(f"{size:,}" for size in sorted(by_size))
        rows.append(f"| {name} | {found.exponent:.2f}{error} | {r2} | {sizes} |")
    if not rows:
        return ""
    head = ["| p50 of | exponent ± standard error | R² | chunks |", "|---|---|---|---|"]
    said = "Growth: p50 as a power of the number of chunks, least squares on the logarithms.\n"
    return "\n".join([said, *head, *rows]) + "\n"
