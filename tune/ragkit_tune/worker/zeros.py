"""Keep the zeros of a base that was pruned by magnitude, so that training recovers it as it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from job import Job, Log  # type: ignore[import-not-found]  # beside this script
from transformers import TrainerCallback

PRUNED = ("magnitude", "heads")  # settings of `ragkit tune shrink` that write zeros


class KeepZeros(TrainerCallback):
    """Set the weights that were zero at the start to zero again after each step.

    Only for a base whose card says that it was pruned: a model of few bits has zeros too, and they
    must move. LoRA's second matrix is zero as a whole at the start, and moves. The masks take one
    byte for each weight of a matrix with zeros.
    """

    def __init__(self, job: Job, log: Log) -> None:
        self._is_pruned = is_pruned(Path(job.base))
        self._log = log
        self._masks: list[tuple[Any, Any]] = []  # a parameter, and where it is zero

    def on_train_begin(
        self, args: Any, state: Any, control: Any, model: Any = None, **context: Any
    ) -> None:
        """Look where the weights are zero."""
        if not self._is_pruned:
            return
        trained = (weight for weight in model.parameters() if weight.requires_grad)
        masks = [(weight, weight.detach() == 0) for weight in trained if weight.dim() == 2]
        self._masks = [pair for pair in masks if pair[1].any() and not pair[1].all()]
        text = f"the zeros of {len(self._masks)} pruned matrices of the base stay zero"
        self._log.note(text, state.global_step)

    def on_optimizer_step(self, args: Any, state: Any, control: Any, **context: Any) -> None:
        """Set them to zero again, for the optimizer has moved them."""
        for weight, mask in self._masks:
            weight.data.masked_fill_(mask, 0)


def is_pruned(base: Path) -> bool:
    """Tell whether the card of a model says that weights were set to zero."""
    try:
        settings = json.loads((base / "card.json").read_text("utf-8"))["settings"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return isinstance(settings, dict) and any(settings.get(name) for name in PRUNED)
