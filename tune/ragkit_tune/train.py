"""From documents to a verdict in one call: rows, a plan, a run, a proof."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ragkit.errors import ModelError, UsageError

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit_tune.plan.make import Plan
    from ragkit_tune.proof.verdict import Verdict
    from ragkit_tune.recipe import Recipe
    from ragkit_tune.run.folder import Run
    from ragkit_tune.run.log import Progress

_PROVABLE: Final = ("embedder", "reranker", "adapter")
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it; `verdict` is None where no proof was asked for."""

    plan: Plan
    run: Run
    verdict: Verdict | None


@dataclass(frozen=True, slots=True)
class Listener:
    """Who is told how it goes: what is begun, the plan, each step."""

    on_stage: Callable[[str], None] = lambda stage: None
    on_plan: Callable[[Plan], None] = lambda plan: None
    on_step: Callable[[Progress], None] = lambda progress: None


def make_rows(
    settings: Settings,
    collection: str | None,
    listener: Listener,
    *,
    labelled: Path | None = None,
    max_tokens: int = 512,
    seed: int = 0,
) -> Path:
    """Make pairs from a collection in a folder below ragkit's home, and return the folder.

    Raises what `make_data` does.
    """
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.system.private_files import make_private
    from ragkit_tune.data.make import make_data
    from ragkit_tune.run.folder import ROWS, runs_folder

    stages: list[str] = []

    def tell(stage: str, done: int, total: int) -> None:
        if stage not in stages:
            stages.append(stage)
            listener.on_stage(stage)

    with KnowledgeBase.open(settings, collection=collection) as kb:
        parent = runs_folder(settings.home) / ROWS
        make_private(parent.parent)
        make_private(parent)
        made = make_data(
            kb,
            _next_folder(parent, kb.collection),
            settings=settings,
            labelled=labelled,
            max_tokens=max_tokens,
            seed=seed,
            progress=tell,
        )
    return made.folder


def train(
    recipe: Recipe,
    settings: Settings,
    listener: Listener,
    *,
    name: str = "",
    collection: str | None = None,
    prove_it: bool = True,
) -> Outcome:
    """Plan, train and prove. Raises UsageError, BusyError, and ModelError when training fails."""
    from ragkit_tune.plan.make import make_plan
    from ragkit_tune.proof.candidate import find_candidate
    from ragkit_tune.proof.measure import Proof
    from ragkit_tune.proof.prove import prove
    from ragkit_tune.run.job import read_rows
    from ragkit_tune.run.start import start

    planned = make_plan(recipe, read_rows(recipe))
    if planned.choice is None:
        raise ModelError(planned.remedy)
    listener.on_plan(planned)
    run = start(
        planned.recipe,
        home=settings.home,
        name=name,
        python=settings.tune_python,
        compact=planned.compact,
        on_stage=listener.on_stage,
        on_step=listener.on_step,
    )
    if not prove_it or recipe.kind not in _PROVABLE or run.state != "finished":
        return Outcome(planned, run, None)
    proof = Proof(
        find_candidate(run.name, settings),
        settings,
        collection=collection,
        progress=listener.on_stage,
    )
    return Outcome(planned, run, prove(proof))


def base_of(settings: Settings, kind: str, values: Mapping[str, object]) -> str:
    """Return the model to train: as named, or the one in use. Raises UsageError for none."""
    if values.get("base"):
        return str(values["base"])
    if kind == "embedder":
        return settings.embed_model
    if kind == "reranker" and settings.reranker and "://" not in settings.reranker:
        return settings.reranker.removeprefix("late:")
    if kind == "reranker":
        return settings.embed_model  # an encoder, which gets a head that scores
    raise UsageError("--base is missing: name the language model to train, a folder or hub name")


def _next_folder(parent: Path, collection: str) -> Path:
    stem = _NOT_IN_NAMES.sub("-", collection)[:40]
    number = 1
    while (parent / f"{stem}-{number}").exists():
        number += 1
    return parent / f"{stem}-{number}"
