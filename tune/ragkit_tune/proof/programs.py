"""Run `ragkit eval` and `ragkit ingest` as programs, as a user would, and read what they print."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ragkit.errors import RagkitError
from ragkit_tune.proof.verdict import Difference

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings

MEASURE: Final = "ndcg@10"  # of hybrid search: what a proof of an embedder or reranker decides by
ANSWER_MEASURE: Final = "answer_score"  # of answers: what a proof of an adapter decides by
# Settings that a program must share with a proof whose settings come from no file or variable.
_PASSED: Final = (
    *("home", "database_url", "tenant", "embed_device", "prompts"),
    *("llm_url", "llm_api_key", "llm_model", "llm_tokenizer", "llm_context_tokens"),
    *("llm_budget_tokens", "llm_temperature", "llm_max_tokens", "llm_seed"),
    *("llm_timeout_s", "llm_total_timeout_s"),
)
_SOME_FAILED: Final = 3  # the exit code when some questions ended in an error, which count 0
_OUTPUT_CHARS: Final = 400
# Of 2,000 items, where one answer in ten changes, the difference varies by 0.007 by chance: a guard
# that allows 0.01 falls so about once in twelve times.
_TASK_ITEMS: Final = 2000

# Takes arguments of `ragkit` and variables; returns what it printed. Raises RagkitError.
Program = Callable[[Sequence[str], Mapping[str, str]], str]


def run_ragkit(arguments: Sequence[str], variables: Mapping[str, str]) -> str:
    """Run `ragkit` in a process of its own. Raises RagkitError with the last line of its errors.

    Exit code 3, of an evaluation in which some questions ended in an error, is no failure.
    """
    process = subprocess.run(
        [sys.executable, "-m", "ragkit", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env={**_inherited(variables), **variables},
    )
    if process.returncode not in {0, _SOME_FAILED}:
        lines = [line for line in process.stderr.splitlines() if line.strip()]
        reason = (lines or process.stdout.splitlines() or ["no output"])[-1][:_OUTPUT_CHARS]
        raise RagkitError(
            f"`ragkit {' '.join(arguments[:2])}` failed (exit code {process.returncode}): {reason}"
        )
    return process.stdout


def _inherited(variables: Mapping[str, str]) -> dict[str, str]:
    """Return this process's variables but those that name a file in the place of a passed one."""
    return {
        name: value
        for name, value in os.environ.items()
        if name.upper().removesuffix("_FILE") not in variables
    }


def variables_of(settings: Settings) -> dict[str, str]:
    """Return the variables that bring a program to the same database and language model."""
    variables = {}
    for name in _PASSED:
        value: Any = getattr(settings, name)
        if name in settings.model_fields_set and value is not None:
            secret = getattr(value, "get_secret_value", None)
            variables[f"RAGKIT_{name.upper()}"] = secret() if secret else str(value)
    return variables


class Evaluations:
    """Evaluates a baseline and a candidate on sets of questions, and compares them.

    `candidate` are the options, and `candidate_variables` the variables, that make a program search
    or answer with the candidate; without them it does with the baseline. Run files go to `folder`.
    `total` is how many evaluations there will be, for the lines of progress; 0 is not known.
    """

    def __init__(
        self,
        program: Program,
        folder: Path,
        *,
        variables: Mapping[str, str],
        candidate: Sequence[str] = (),
        candidate_variables: Mapping[str, str] | None = None,
        total: int = 0,
        progress: Callable[[str], None] = lambda stage: None,
    ) -> None:
        self.program = program
        self.folder = folder
        self.variables = dict(variables)
        self.progress = progress
        self._total = total
        self._begun = 0
        self._sides: dict[str, tuple[Sequence[str], Mapping[str, str]]] = {
            "baseline": ((), {}),
            "candidate": (candidate, candidate_variables or {}),
        }

    def search(
        self, name: str, questions: Path, collection: str, mode: str = "hybrid"
    ) -> Difference:
        """Compare what both find, by nDCG@10."""
        options = [str(questions), "--collection", collection, "--mode", mode]
        (row,) = self._compare("retrieval", name, [*options, "--measure", MEASURE], [MEASURE])
        return row

    def answers(
        self, name: str, questions: Path, collection: str, measures: Sequence[str]
    ) -> list[Difference]:
        """Compare what both answer, by those of the measures that both have values of.

        A model that cites nothing, say, has no value of how valid its citations are.
        """
        options = [str(questions), "--collection", collection]
        return self._compare("rag", name, options, measures)

    def task(self, name: str, task: str, measure: str) -> Difference:
        """Compare what both make of a task, or of the first of its items, always the same."""
        (row,) = self._compare("run", name, [task, "--limit", str(_TASK_ITEMS)], [measure])
        return row

    def _compare(
        self, command: str, name: str, options: Sequence[str], measures: Sequence[str]
    ) -> list[Difference]:
        files, shared = [], list(dict.fromkeys(measures))
        for side, (side_options, variables) in self._sides.items():
            self._begun += 1
            place = f"{self._begun} of {self._total}: " if self._total else ""
            self.progress(f"{place}{name}: {side}")
            file = self.folder / f"{name}-{side}.jsonl"
            arguments = ["eval", command, *options, *side_options]
            arguments += ["--out", str(file), "--label", side, "--overwrite"]
            printed = self.program([*arguments, "--json"], {**self.variables, **variables})
            measured = _read_measured(printed, name, side)
            shared = [measure for measure in shared if measure in measured]
            files.append(str(file))
        rows: list[Difference] = []
        if shared:
            picked = [part for measure in shared for part in ("--metric", measure)]
            printed = self.program(["eval", "compare", *files, *picked, "--json"], self.variables)
            rows = read_differences(name, printed)
        if not rows:
            raise RagkitError(f"the runs of {name} share no value of {', '.join(measures)}")
        return rows


def read_differences(name: str, printed: str) -> list[Difference]:
    """Read what `ragkit eval compare --json` prints of two runs. Raises RagkitError."""
    try:
        rows = json.loads(printed)["rows"]
        defined = [row for row in rows if row["difference"]["mean"] is not None]
        return [_difference(name, row) for row in defined]
    except (ValueError, KeyError, TypeError) as error:
        raise RagkitError(f"`ragkit eval compare` printed no comparison: {error}") from error


def _read_measured(printed: str, name: str, side: str) -> frozenset[str]:
    """Return the measures that a run has values of.

    Raises RagkitError where questions ended in an error: they count 0, and prove nothing.
    """
    try:
        summary = json.loads(printed)
        summary = summary["tasks"][0] if "tasks" in summary else summary
        measured = frozenset(summary.get("scores", ()))
        errors = int(summary.get("errors", 0))
        first = next((row["error"] for row in summary.get("worst", ()) if row["error"]), "")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RagkitError(f"`ragkit eval` printed no summary of {name}: {error}") from error
    if errors:
        raise RagkitError(
            f"{errors} questions of {name} ended in an error with the {side}, the first as"
            f" {first[:_OUTPUT_CHARS]!r}: correct that, and prove the model again"
        )
    return measured


def _difference(name: str, row: Mapping[str, Any]) -> Difference:
    difference, detectable = row["difference"], row["detectable"]
    return Difference(
        name,
        row["metric"],
        row["items"],
        row["clusters"],
        row["a"]["mean"],
        row["b"]["mean"],
        difference["mean"],
        difference["low"],
        difference["high"],
        row["p"],
        float("inf") if detectable is None else detectable,
    )
