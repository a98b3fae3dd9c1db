"""Measure a step on this machine: start the probe's script with the longest rows of the data."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ragkit.errors import ModelError, UsageError
from ragkit.system.worker_process import COMPACT, find_interpreter, run_worker

if TYPE_CHECKING:
    from ragkit_tune.plan.fit import Choice
    from ragkit_tune.plan.lengths import Lengths
    from ragkit_tune.recipe import Recipe

STEPS: Final = 3  # the optimizer's moments are there from the second on
_SCRIPT: Final = Path(__file__).parents[1] / "worker" / "probe.py"


@dataclass(frozen=True, slots=True)
class Measured:
    """The peak of memory above a process with its libraries, and the seconds of a step."""

    peak_bytes: int
    seconds: float


def probe(
    recipe: Recipe,
    choice: Choice,
    lengths: Lengths,
    *,
    python: Path | None = None,
    compact: bool = True,
    progress: Callable[[str], None] = lambda _: None,
) -> Measured:
    """Train three steps of a choice on one device, with the longest rows.

    `compact` gives freed memory back at once, as the formulas take it (`Plan.compact`).
    Raises UsageError where the choice needs another device, ModelError when the script fails.
    """
    from ragkit.embed.find import find_model

    if choice.training.bits < 16 and not choice.training.on_gpu:
        raise UsageError(
            f"weights of {choice.training.bits} bits need a GPU: set -o bits=16, or plan with --gpu"
        )
    interpreter = find_interpreter(
        python,
        ["torch", "transformers", "peft"],
        option="RAGKIT_TUNE_PYTHON",
        install="pip install 'ragkit[tune]'",
    )
    job = _job(recipe, choice, lengths) | {"base": str(find_model(recipe.base).folder)}
    with tempfile.TemporaryDirectory(prefix="ragkit-probe-") as name:
        file = Path(name) / "job.json"
        file.write_text(json.dumps(job), encoding="utf-8")
        reason = run_worker(
            interpreter,
            _SCRIPT,
            file,
            lambda line: _report(line, progress),
            environment=COMPACT if compact else None,
        )
        if reason:
            raise ModelError(
                f"the probe of {recipe.base} failed: {reason}: set a smaller -o micro_batch or"
                " max_tokens, or plan without --probe"
            )
        result = json.loads((Path(name) / "result.json").read_text(encoding="utf-8"))
    # The first step also makes the moments and warms up.
    return Measured(int(result["peak_bytes"]), min(result["seconds"][1:]))


def _job(recipe: Recipe, choice: Choice, lengths: Lengths) -> dict[str, Any]:
    training = choice.training
    rows = recipe.batch // training.gpus if training.cached else choice.micro_batch
    half = "bf16" if recipe.precision == "auto" else recipe.precision
    return {
        "kind": recipe.kind,
        "passes": lengths.longest(rows),
        "precision": half if training.half else "fp32",
        "parameters": training.parameters,
        "rank": training.rank,
        "bits": training.bits,
        "optimizer": training.optimizer,
        "checkpointing": training.checkpointing,
        "cached": training.cached,
        "wide_frozen": training.wide_frozen,
        "micro_batch": choice.micro_batch,
        "accumulation": min(2, choice.accumulation),  # more take no more memory
        "on_gpu": training.on_gpu,
        "steps": STEPS,
    }


def _report(line: str, progress: Callable[[str], None]) -> None:
    if line.startswith("stage: "):
        progress(line.removeprefix("stage: "))
