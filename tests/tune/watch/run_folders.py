"""Run folders made by hand, with logs as workers write them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from math import exp, sin
from pathlib import Path
from typing import Any

from ragkit_tune.recipe import make_recipe
from ragkit_tune.run.folder import Run, create_run

BEGAN = "2026-11-28T10:00:00+00:00"
ENDED = "2026-11-28T10:05:00+00:00"


def step(number: int, loss: float | str = 1.0, **values: Any) -> dict[str, Any]:
    """Make a line of a step: two seconds each, 64 tokens, 100 MiB more than a GiB of memory."""
    return {
        "step": number,
        "loss": loss,
        "grad_norm": 0.5,
        "learning_rate": 2e-5,
        "tokens": 64,
        "seconds": 2.0 * number,
        "rows": ["r1"],
        "peak_process_bytes": 2**30 + 100 * 2**20,
        **values,
    }


def dev(number: int, value: float, measure: str = "ndcg@10") -> dict[str, Any]:
    """Make a line of a measurement on the dev set."""
    return {"step": number, "dev": {measure: value}, "seconds": 2.0 * number}


def verdict(mean: float, low: float, high: float, **values: Any) -> dict[str, Any]:
    """Make a verdict as run.json holds it."""
    main = {
        "name": "hybrid", "measure": "ndcg@10", "items": 113, "clusters": 6, "a": 0.5,
        "b": 0.5 + mean, "mean": mean, "low": low, "high": high, "p": 0.01, "detectable": 0.02,
    }  # fmt: skip
    outcome = "better" if low > 0 else "no difference"
    return {
        "outcome": outcome,
        "sentence": f"{outcome} by {mean:.3f} (95% {low:.3f} to {high:.3f})",
        "main": main,
        "p": 0.01,
        "tried": 1,
        "guards": [],
        "reported": [],
        "notes": [],
        "facts": {"trial": "q1", "collection": "handbook"},
        **values,
    }


def make_run(
    home: Path,
    name: str,
    lines: Iterable[Mapping[str, Any]],
    *,
    recipe: Mapping[str, Any] | None = None,
    **values: Any,
) -> Run:
    """Make a finished run with a log; `values` are of its run.json."""
    given = {"kind": "embedder", "base": "minilm", "data": "/data/rows", **(recipe or {})}
    made = make_recipe(given)
    about = {
        "kind": made.kind,
        "state": "finished",
        "recipe": made.as_json(),
        "recipe_hash": made.hash,
        "data_hash": "d" * 64,
        "base": {"name": "minilm", "revision": "r", "folder": "/models/minilm"},
        "versions": {},
        "started_at": BEGAN,
        "ended_at": ENDED,
    }
    folder = create_run(home, name, {**about, **values})
    folder.steps.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return folder.read()


def long_log(steps: int, *, rate: float = 1.0, best: int = 60) -> list[dict[str, Any]]:
    """Make a log of many steps whose loss falls with noise and has a spike at step 5."""
    lines: list[dict[str, Any]] = [dev(0, 0.412)]
    for n in range(1, steps + 1):
        loss = 2.2 * exp(-3 * rate * n / steps) + 0.3 + 0.12 * sin(n * 12.9898) + 3.0 * (n == 5)
        norm = 40 * exp(-6 * n / steps) + 0.2 + 0.1 * sin(n * 78.233)
        lines.append(step(n, loss, grad_norm=norm, learning_rate=2e-5 * rate * (1 - n / steps)))
        if n % 20 == 0:
            value = 0.412 + 0.08 * rate * (1 - abs(n - best) / steps) - 0.01 * (n > best)
            lines += [dev(n, round(value, 4)), {"step": n, "event": "checkpoint"}]
    lines.append({"step": steps, "event": f"the best is step {best}"})
    return lines
