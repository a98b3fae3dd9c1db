"""The guard: looks at every step of a run and ends one that goes wrong.

For any trainer of transformers, sentence-transformers or TRL:

    class Trainer(guard.RowsOfStep, SentenceTransformerTrainer): ...
    args.logging_steps = 1, args.logging_nan_inf_filter = False
    trainer = Trainer(..., data_collator=guard.Collator(collator),
                      callbacks=[guard.Guard(log, total_steps)])

Each dataset row carries its id in the column `row`, which the collator takes out. The trainer logs
after each step of the optimizer and before it saves, so that no bad state becomes a checkpoint.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any, Final

from job import Log, StopError  # type: ignore[import-not-found]  # beside this script
from transformers import TrainerCallback

ROW: Final = "row"  # the column of row ids
IDS_OF_BATCH: Final = 8  # that a message and the log name

# All arbitrary: wide enough for the noise of small batches, narrow enough for a run that diverges.
LOSS_FACTOR: Final = 5.0  # times the median of the last steps
NORM_FACTOR: Final = 100.0
WINDOW: Final = 50  # steps that the median is of
WARM_STEPS: Final = 20  # before which only values that are not finite end a run
WEIGHTS_EVERY: Final = 50  # steps between two looks at all weights


class Guard(TrainerCallback):
    """Stop at a loss, gradient norm or weight that is not finite, and when the run diverges.

    A loss diverges above 5 times the median of the last 50 steps, a gradient norm above 100 times;
    both must also be above what the first steps had, so that a loss near zero may vary.
    """

    def __init__(self, log: Log, total_steps: int, *, minutes: float = 0.0) -> None:
        self._log = log
        self._total = total_steps
        self._limit_s = minutes * 60
        self._rate = 0.0
        self._losses: list[float] = []
        self._norms: list[float] = []
        self._first: dict[str, float] = {}
        self.rows: list[str] = []  # of the step at hand; RowsOfStep fills it
        self.tokens = 0
        self._seen_seconds = 0.0
        self._step_seconds: list[float] = []

    def on_train_begin(self, args: Any, state: Any, control: Any, **context: Any) -> None:
        """Measure the first step from here."""
        self._rate = args.learning_rate
        self._seen_seconds = self._log.seconds

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **context: Any) -> None:
        """Check the step that was just made, and write it down. Raises StopError."""
        if not logs or "loss" not in logs:
            return
        self._rate = args.learning_rate
        loss, norm = float(logs["loss"]), float(logs.get("grad_norm") or 0.0)
        rows, tokens = self.rows, self.tokens * args.world_size
        self.rows, self.tokens = [], 0
        self._log.write(
            step=state.global_step,
            loss=loss if math.isfinite(loss) else str(loss),
            grad_norm=norm if math.isfinite(norm) else str(norm),
            learning_rate=logs.get("learning_rate", 0.0),
            tokens=tokens,
            seconds=round(self._log.seconds, 3),
            rows=rows[:IDS_OF_BATCH],
            **peak_memory(),
        )
        self._check(state.global_step, "loss", loss, self._losses, LOSS_FACTOR, rows)
        self._check(state.global_step, "gradient norm", norm, self._norms, NORM_FACTOR, rows)
        self._tell(state.global_step, loss, norm, tokens)

    def on_step_end(
        self, args: Any, state: Any, control: Any, model: Any = None, **context: Any
    ) -> None:
        """Look at all weights now and then, and before each checkpoint. Raises StopError."""
        if control.should_save or state.global_step % WEIGHTS_EVERY == 0:
            check_weights(model, state.global_step, self.rows)
        is_late = 0 < self._limit_s <= self._log.seconds
        if is_late and control.should_training_stop and state.global_step < self._total:
            step = state.global_step
            after = f"{step} step{'s' * (step > 1)}"
            self._log.note(f"time is up after {after}: the best so far is kept", step)

    def _check(
        self,
        step: int,
        name: str,
        value: float,
        values: list[float],
        factor: float,
        rows: Sequence[str],
    ) -> None:
        if not math.isfinite(value):
            raise StopError(
                f"the {name} of step {step} is {value} ({named(rows)}): look at these rows, or"
                f" set -o learning_rate={self._rate / 3:.0e}"
            )
        recent = values[-WINDOW:]
        if len(values) >= WARM_STEPS:
            usual = median(recent)
            first = self._first.setdefault(name, median(values[:WARM_STEPS]))
            if value > factor * usual > 0 and value > first:
                raise StopError(
                    f"the run diverges: the {name} of step {step} is {value:.4g}, {factor:g} times"
                    f" the usual {usual:.4g} ({named(rows)}): set"
                    f" -o learning_rate={self._rate / 3:.0e}, or look at these rows"
                )
        values.append(value)

    def _tell(self, step: int, loss: float, norm: float, tokens: int) -> None:
        step_s = self._log.seconds - self._seen_seconds
        self._seen_seconds += step_s
        speed = f" {tokens / step_s:.0f} tokens/s" if tokens and step_s > 0 else ""
        self._step_seconds.append(step_s)
        remaining_s = (self._total - step) * mean(self._step_seconds)
        if self._limit_s:
            remaining_s = max(0.0, min(remaining_s, self._limit_s - self._log.seconds))
        self._log.tell(
            f"step: {step}/{self._total} loss {loss:.4f} grad {norm:.3g}{speed}"
            f" left {remaining_s:.0f} s"
        )


class RowsOfStep:
    """A mixin for trainers: tell the guard which rows a step has, and count their tokens."""

    guard: Guard

    def training_step(
        self, model: Any, inputs: dict[str, Any], *arguments: Any, **options: Any
    ) -> Any:
        """Take the row ids out of the batch and make the step."""
        self.guard.rows += inputs.pop(ROW, [])
        for name, value in inputs.items():
            if name.endswith("attention_mask"):
                self.guard.tokens += int(value.sum())
        return super().training_step(model, inputs, *arguments, **options)  # type: ignore[misc]


class Collator:
    """A trainer's collator, which does not see the column of row ids; the batch has them as a list.

    It has the attributes of the trainer's.
    """

    def __init__(self, collator: Callable[[list[dict[str, Any]]], dict[str, Any]]) -> None:
        self._collator = collator

    def __call__(self, features: list[dict[str, Any]]) -> dict[str, Any]:
        ids = [feature[ROW] for feature in features if ROW in feature]
        plain = [{k: v for k, v in feature.items() if k != ROW} for feature in features]
        return {**self._collator(plain), ROW: ids}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._collator, name)


def peak_memory() -> dict[str, int]:
    """Return the most bytes so far: `peak_gpu_bytes` of this process's GPU where it has used one.

    Else `peak_process_bytes`, of the whole process with its libraries; {} where the system does not
    tell. Not `getrusage`, whose peak counts the process that started this one (getrusage(2)).
    """
    import torch

    if torch.cuda.is_available() and (used := torch.cuda.max_memory_allocated()):
        return {"peak_gpu_bytes": used}
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").split("\n")  # proc(5)
    except OSError:
        return {}
    peaks = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return {"peak_process_bytes": int(peaks[0]) * 1024} if peaks else {}


def check_weights(model: Any, step: int, rows: Sequence[str] = ()) -> None:
    """Raise StopError naming the first weight that is not finite."""
    import torch

    for name, weight in model.named_parameters():
        if not bool(torch.isfinite(weight).all()):
            raise StopError(
                f"weight {name} is not finite after step {step} ({named(rows)}): set"
                " a smaller -o learning_rate; the last checkpoint is good"
            )


def named(rows: Sequence[str]) -> str:
    """Name the rows of a batch, the first eight of them."""
    if not rows:
        return "rows not known"
    suffix = f" and {len(rows) - IDS_OF_BATCH} more" if len(rows) > IDS_OF_BATCH else ""
    return f"rows {', '.join(rows[:IDS_OF_BATCH])}{suffix}"
