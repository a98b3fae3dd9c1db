"""Try a grid of options on half of the questions, and confirm the best on the other half."""

from typing import TYPE_CHECKING

from ragkit._lazy import lazy_exports

if TYPE_CHECKING:
    from ragkit_eval.sweep.grid import Grid as Grid
    from ragkit_eval.sweep.grid import read_grid as read_grid
    from ragkit_eval.sweep.run import sweep as sweep
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {"ragkit_eval.sweep.grid": "Grid read_grid", "ragkit_eval.sweep.run": "sweep"},
    )
