"""What a run's log says: its steps, its measurements on the dev set, its events.

The worker appends to the log while it is read, so the last line may be half a line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

REWARDS: Final = ("reward", "supported", "covered", "refused")  # means over answers, of GRPO

_MAX_LINE_BYTES: Final = 1_000_000  # arbitrary; a line of a step has some hundred bytes
_TAIL_BYTES: Final = 20_000  # of the worker's output, in which the last step's line stands
_STEP: Final = re.compile(
    r"step: (\d+)/(\d+) loss (\S+) grad (\S+)(?: (\d+) tokens/s)? left (\d+) s"
)


@dataclass(frozen=True, slots=True)
class Progress:
    """The newest step of a run. `tokens_per_s` is None where the worker did not count them."""

    step: int
    steps: int
    loss: float
    gradient_norm: float
    tokens_per_s: float | None
    left_s: float


@dataclass(frozen=True, slots=True)
class Log:
    """A run's log. `measurements` are those of the dev set by step, `events` in their order.

    `rewards` are the means over the answers of a batch, of GRPO alone.
    """

    steps: tuple[Mapping[str, Any], ...]
    measurements: tuple[Mapping[str, Any], ...]
    events: tuple[Mapping[str, Any], ...]
    rewards: tuple[Mapping[str, Any], ...] = ()


def read_log(path: Path) -> Log:
    """Read a run's log as far as it is written; no file is an empty log."""
    steps, measurements, events, rewards = [], [], [], []
    for values in read_entries(path):
        if "event" in values:
            events.append(values)
        elif "dev" in values:
            measurements.append(values)
        elif "loss" in values:
            steps.append(values)
        elif "reward" in values:
            rewards.append(values)
    return Log(tuple(steps), tuple(measurements), tuple(events), tuple(rewards))


def read_entries(path: Path) -> list[dict[str, Any]]:
    """Return the log's lines in their order; no file is an empty log."""
    return list(_read_lines(path))


def describe_entry(entry: Mapping[str, Any]) -> str:
    """Return a line of the log as a line of text."""
    step = f"step {entry.get('step', 0)}: "
    if "event" in entry:
        others = {name: v for name, v in entry.items() if name not in {"step", "event"}}
        return f"{step}{entry['event']}" + (f" {json.dumps(others)}" if others else "")
    if "dev" in entry:
        return f"{step}dev " + ", ".join(f"{name} {v:.4f}" for name, v in entry["dev"].items())
    names = ("loss", "grad_norm", "learning_rate", "tokens", "seconds", *REWARDS)
    numbers = ", ".join(f"{name} {entry[name]}" for name in names if name in entry)
    rows = ", ".join(map(str, entry.get("rows") or ()))
    return f"{step}{numbers}" + (f" (rows {rows})" if rows else "")


def read_progress(output: Path) -> Progress | None:
    """Return the newest step that the worker's output tells of."""
    try:
        with output.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - _TAIL_BYTES))
            text = file.read(_TAIL_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    lines = [progress for line in text.split("\n") if (progress := parse_progress(line))]
    return lines[-1] if lines else None


def parse_progress(line: str) -> Progress | None:
    """Read a line of the worker's output.

    >>> parse_progress("step: 3/40 loss 1.02 grad 0.8 2100 tokens/s left 95 s").left_s
    95.0
    """
    match = _STEP.match(line)
    if match is None:
        return None
    step, steps, loss, norm, speed, left = match.groups()
    try:
        speed_value = float(speed) if speed else None
        return Progress(int(step), int(steps), float(loss), float(norm), speed_value, float(left))
    except ValueError:
        return None


def _read_lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        file = path.open("rb")
    except OSError:
        return
    with file:
        while line := file.readline(_MAX_LINE_BYTES):
            if not line.endswith(b"\n"):
                return  # still being written
            try:
                values = json.loads(line.decode("utf-8", "replace"))
            except ValueError:
                continue  # of a worker that was killed, before a resume cuts it off
            if isinstance(values, dict):
                yield values
