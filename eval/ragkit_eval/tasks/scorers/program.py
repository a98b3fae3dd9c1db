"""Programs that a model completes, run with their tests in the sandbox, only with permission."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ragkit.errors import UsageError
from ragkit_eval.run.item import Item, Response, Scored
from ragkit_eval.sandbox import Sandbox

_FENCE = re.compile(r"```(?:python|py)?[ \t]*\n(.*?)(?:\n```|\Z)", re.DOTALL)


@dataclass(frozen=True)
class ProgramScorer:
    """Scores 1 if the completed function passes the item's tests within the sandbox's limits."""

    sandbox: Sandbox

    @property
    def metrics(self) -> Mapping[str, str]:
        """Return the signature of each metric."""
        limits = self.sandbox.limits
        return {"pass@1": f"pass@1|cpu_s:{limits.cpu_s}|memory_mb:{limits.memory_mb}|v:1"}

    def score(self, item: Item, response: Response) -> Scored:
        """Run a completion. Raises ModelError if the sandbox itself cannot start."""
        program, fallback = program_of(item, response.text)
        outcome = self.sandbox.run(
            program, tests=str(item.extra["test"]), entry_point=str(item.extra["entry_point"])
        )
        prediction = "passed" if outcome.passed else outcome.reason
        return Scored(prediction, {"pass@1": float(outcome.passed)}, fallback)


def program_of(item: Item, text: str) -> tuple[str, bool]:
    """Return the program of a completion, and whether it came from a fenced block.

    A completion continues the prompt. The content of a fenced block is taken; if it defines the
    function, it follows the prompt, whose function has its docstring for a body.
    """
    fenced = _FENCE.search(text)
    code = fenced.group(1) if fenced else text
    entry = re.escape(str(item.extra["entry_point"]))
    defines = fenced and re.search(rf"^def {entry}\b", code, re.MULTILINE)
    return f"{item.prompt}{chr(10) if defines else ''}{code}\n", bool(fenced)


def program_scorer(name: str, *, execute_code: bool, weak_sandbox: bool) -> ProgramScorer:
    """Build the scorer. Raises UsageError without permission and without a sandbox."""
    if not execute_code:
        raise UsageError(
            f"{name} runs code that the model writes: allow it with --execute-code "
            "(execute_code=True), on a machine that you can spare"
        )
    return ProgramScorer(Sandbox.open(weak=weak_sandbox))
