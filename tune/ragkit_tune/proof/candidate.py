"""What is to be proven: a run's model, or a model folder that was merged or shrunk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from ragkit.embed.find import find_model, read_json
from ragkit.errors import NotFoundError, UsageError
from ragkit_tune.data.data_set import DataSet, read_data_set, write_whole
from ragkit_tune.model_files.card import CARD, describe_parent
from ragkit_tune.proof.verdict import Verdict, read_verdict
from ragkit_tune.proof.weights import model_hash
from ragkit_tune.run.folder import Run, RunFolder, list_runs, runs_folder

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings

CandidateKind = Literal["embedder", "reranker", "adapter"]
RUN: Final = "run.json"
VERDICT: Final = "verdict.json"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model, with the run that trained it; `run` is None for a model folder."""

    name: str
    kind: CandidateKind
    model: Path
    run: Run | None = None

    @property
    def folder(self) -> Path:
        """Return the folder that verdict and card are written to."""
        return self.run.folder.path if self.run else self.model

    def hash(self) -> str:
        """Return the model's hash. Raises NotFoundError where it has no weights."""
        return model_hash(self.model)

    def verdict(self) -> Verdict | None:
        """Return the last verdict; None for an unproven model. Raises UsageError."""
        if self.run is not None:
            values, where = self.run.folder.read().values.get("verdict"), self.run.folder.file
        else:
            where = self.model / VERDICT
            values = _read_object(where) if where.exists() else None
        return None if values is None else read_verdict(values, str(where))

    def data(self) -> DataSet | None:
        """Return the rows that a run trained on, unchanged since; None for a model folder.

        Raises NotFoundError, UsageError for rows that changed.
        """
        if self.run is None:
            return None
        data = read_data_set(Path(str(self.run.recipe["data"])))
        if data.hash != self.run.values.get("data_hash"):
            raise UsageError(
                f"{data.folder} is not what run {self.name} was trained on: restore it, or prove"
                f" {self.model} as a folder"
            )
        return data


def find_candidate(name: str, settings: Settings) -> Candidate:
    """Find a run by its name or folder, or a model's folder.

    Raises NotFoundError, and UsageError for a run that is not finished or trained no such model.
    """
    folder = Path(name).expanduser()
    places = [runs_folder(settings.home) / name, folder]
    if folder.name == "model":
        places.append(folder.parent)
    for place in places:
        if (place / RUN).is_file():
            return _open_run(RunFolder(place.absolute()))
    if (folder / "config.json").is_file() or (folder / "adapter_config.json").is_file():
        model = folder.absolute()
        return Candidate(model.name, _kind_of(model), model)
    listed = ", ".join(run.name for run in list_runs(settings.home)) or "none"
    raise NotFoundError(
        f"{name} is neither a run nor a model's folder: runs are {listed} (`ragkit tune runs list`)"
    )


def trained_on(candidate: Candidate, settings: Settings) -> list[DataSet]:
    """List the rows that a model, or the models that it was made of, were trained on.

    Of a merged or shrunk model they are known where its parents are runs of this home.
    """
    data = candidate.data()
    if data is not None:
        return [data]
    card = read_json(candidate.model / CARD)
    parents = card.get("parents") if isinstance(card, dict) else None
    hashes = {str(row.get("sha256")) for row in parents or () if isinstance(row, dict)}
    if not hashes:
        return []
    sets = [
        run.data()
        for run in _finished_runs(settings)
        if describe_parent(find_model(str(run.model))).sha256 in hashes
    ]
    return [data for data in sets if data is not None]


def write_verdict(candidate: Candidate, verdict: Verdict) -> None:
    """Keep a verdict where `Candidate.verdict` reads it."""
    if candidate.run is not None:
        candidate.run.folder.update(verdict=verdict.as_json())
    else:
        text = json.dumps(verdict.as_json(), ensure_ascii=False, indent=2) + "\n"
        write_whole(candidate.model / VERDICT, text)


def _open_run(folder: RunFolder) -> Candidate:
    run = folder.read()
    if run.state != "finished":
        raise UsageError(
            f"run {run.name} is not finished but {run.state}: continue it with"
            f" `ragkit tune runs resume {run.name}`"
        )
    kinds: tuple[CandidateKind, ...] = ("embedder", "reranker", "adapter")
    kind = next((kind for kind in kinds if kind == run.kind), None)
    if kind is None:
        raise UsageError(
            f"run {run.name} trained a {run.kind} model, which no search or answer uses: prove an"
            " embedder, reranker or adapter"
        )
    return Candidate(run.name, kind, folder.model, run)


def _kind_of(folder: Path) -> CandidateKind:
    if (folder / "adapter_config.json").is_file():
        return "adapter"
    names = read_json(folder / "config.json").get("architectures") or [""]
    if "SequenceClassification" in names[0]:
        return "reranker"
    if any(part in names[0] for part in ("CausalLM", "ConditionalGeneration")):
        raise UsageError(
            f"{folder} is a language model: serve it with `ragkit model serve` and compare it with"
            " `ragkit eval rag`"
        )
    return "embedder"


def _finished_runs(settings: Settings) -> Iterator[Candidate]:
    for folder in list_runs(settings.home):
        run = folder.read()
        if run.state == "finished" and run.kind in {"embedder", "reranker"}:
            yield _open_run(folder)


def _read_object(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(path.read_bytes())
    except OSError as error:
        raise NotFoundError(f"{path} cannot be read: {error.strerror}: prove it again") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}: prove the model again") from error
    if not isinstance(values, dict):
        raise UsageError(f"{path} is no JSON object: prove the model again")
    return values
