"""Questions by rules or by a language model: start `ragkit eval testset`, which makes them.

That command has the rules and the checks of what a model writes; here its set is only read.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ragkit.errors import RagkitError
from ragkit_tune.data.labelled import Label, read_labels

EVERY: Final = 100_000  # questions that are asked for: the most that the command takes
KINDS: Final[Mapping[str, str]] = {  # by the names of `ragkit eval testset`
    "heading": "headings",
    "table": "tables",
    "number": "numbers",
    "definition": "definitions",
    "cloze": "cloze",
    "written": "asked",
}


def make_labels(
    collection: str, hows: Sequence[str], *, count: int, language: str, seed: int
) -> tuple[list[Label], str]:
    """Make questions, by rules or, for "asked", by the settings' model; name the model or "".

    At most `count` of them are made, 0 for all that there are. Raises RagkitError with the line
    that the command printed when it failed.
    """
    method = "llm" if "asked" in hows else "cloze" if list(hows) == ["cloze"] else "rules"
    with tempfile.TemporaryDirectory(prefix="ragkit-tune-") as folder:
        out = Path(folder, "set.jsonl")
        options = {
            "--out": str(out),
            "--collection": collection,
            "--questions": str(count or EVERY),
            "--unanswerable": "0",
            "--method": method,
            "--seed": str(seed),
            **({"--language": language} if language else {}),
        }
        arguments = [text for option in options.items() for text in option]
        report = _run([sys.executable, "-m", "ragkit", "eval", "testset", *arguments, "--json"])
        labels = read_labels(out) if out.exists() else []
    kinds = {kind for kind, how in KINDS.items() if how in hows}
    return [row for row in labels if row.tags.get("kind") in kinds], str(report.get("model", ""))


def how_made(label: Label) -> str:
    """Return the name that a made question's kind has here."""
    return KINDS[label.tags["kind"]]


def _run(command: Sequence[str]) -> dict[str, Any]:
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    # 1: no question could be made; 3: fewer than were asked for.
    if process.returncode in {0, 1, 3}:
        try:
            report = json.loads(process.stdout)
        except ValueError:
            report = None
        if isinstance(report, dict):
            return report
    lines = process.stderr.strip().splitlines() or [f"exit code {process.returncode}"]
    # That command's own option; here a way to make questions is left out of --how.
    reason = (
        lines[-1].removeprefix("ragkit: ").replace("use --method rules", "leave out asked in --how")
    )
    raise RagkitError(f"no questions could be made: {reason[:500]}")
