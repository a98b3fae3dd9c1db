"""The ledger of proofs: which models were tried on which questions, with their p-values.

It stays when a run is deleted: the best of ten models is no better proven because nine are gone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ragkit.errors import UsageError
from ragkit.system.private_files import make_private, private

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings

_FILE: Final = ".proofs.jsonl"


@dataclass(frozen=True, slots=True)
class Trial:
    """A model that was tried: hashes of questions and model, the p-value of the main measure."""

    questions: str
    collection: str
    model: str
    name: str
    p: float


def hash_questions(texts: Iterable[str]) -> str:
    """Return what a set of questions is known by: neither order nor labels count.

    >>> hash_questions(["Who?", "When?"]) == hash_questions(["When?", "Who? "])
    True
    """
    lines = sorted(" ".join(text.casefold().split()) for text in texts)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def earlier_trials(settings: Settings, trial: Trial) -> list[Trial]:
    """List the other models that were tried on the same questions in the same collection."""
    latest = {}
    for other in _read(settings):
        if (other.questions, other.collection) == (trial.questions, trial.collection):
            latest[other.model] = other
    latest.pop(trial.model, None)
    return list(latest.values())


def add_trial(settings: Settings, trial: Trial) -> None:
    """Append a trial; of a model that is proven again, the last one counts."""
    path = _path(settings)
    make_private(path.parent)
    try:
        with open(path, "a", encoding="utf-8", opener=private) as file:
            file.write(json.dumps(asdict(trial), ensure_ascii=False) + "\n")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}: correct that") from error


def _read(settings: Settings) -> list[Trial]:
    from ragkit.upkeep.questions import read_lines, read_row

    path = _path(settings)
    if not path.exists():
        return []
    trials = []
    for where, line in read_lines(path):
        row: Any = read_row(where, line)
        try:
            trials.append(Trial(**row | {"p": float(row["p"])}))
        except (TypeError, KeyError, ValueError) as error:
            raise UsageError(f"{where}: no trial of a model: remove the line") from error
    return trials


def _path(settings: Settings) -> Path:
    return settings.home / "tune" / _FILE
