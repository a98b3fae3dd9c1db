"""Run one cell of a grid: make its collection and knowledge base, and ask all questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ragkit.errors import SettingsError, UsageError
from ragkit_eval.rag.answer_task import MEASURES, TEXT_METRICS, rag_task
from ragkit_eval.rag.ask import DEPTH, knowledge_ask, search_ask
from ragkit_eval.rag.labels import locate
from ragkit_eval.rag.languages import language_notes, print_notes
from ragkit_eval.rag.model import fitted_cutoff, model_of
from ragkit_eval.rag.search_task import retrieval_task
from ragkit_eval.rag.task_run import run_task
from ragkit_eval.sets import LabelledSet
from ragkit_eval.sweep.collections import Collections
from ragkit_eval.sweep.grid import Cell, Grid

if TYPE_CHECKING:
    from ragkit.contracts import Embedder
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.settings.settings import Settings
    from ragkit.store.open import Database
    from ragkit_eval.run.item import Ask, Task
    from ragkit_eval.run.record import Run

# Metrics that `rag_task` always has.
_STANDARD_METRICS: Final = (
    *("", "answer_score", "contains", "refused_rightly", "language_match"),
    *("groundedness", "citation_validity", "citation_recall"),
    *MEASURES,
    *TEXT_METRICS,
)


@dataclass(frozen=True, slots=True)
class Cells:
    """Runs cells in an open database; `folder` is where their run files go.

    `concurrency` None means 8 concurrent questions with a language model and 1 without.
    """

    database: Database
    settings: Settings
    grid: Grid
    collections: Collections
    folder: Path
    concurrency: int | None = None
    overwrite: bool = False
    quiet: bool = True
    embedders: dict[tuple[str, int | None], Embedder] = field(default_factory=dict)
    notes_printed: set[str] = field(default_factory=set)  # each note is printed once for all cells

    def _print_new_notes(
        self, labelled: LabelledSet, uris: Mapping[str, str], kb: KnowledgeBase
    ) -> tuple[str, ...]:
        notes = language_notes(labelled, uris, kb)
        print_notes([note for note in notes if note not in self.notes_printed])
        self.notes_printed.update(notes)
        return notes

    def run(self, cell: Cell, labelled: LabelledSet, stage: str) -> Run:
        """Ask a cell all questions that its run file lacks, and return the run."""
        from ragkit.knowledge import build
        from ragkit.knowledge.base import KnowledgeBase
        from ragkit.prompts.templates import Templates

        settings = settings_of(cell, self.settings)
        collection = self.collections.of(cell, settings)
        model = (settings.embed_model, settings.embed_dimension)
        embedder = self.embedders.setdefault(model, build.embedder(settings))
        opened = KnowledgeBase.over(
            self.database, settings, collection=collection, embedder=embedder
        )
        kb = _adapt(opened, cell)
        uris = locate(labelled, kb.store, kb.collection)
        task, ask = self._open_task(labelled, uris, kb)
        answers = self.grid.task == "answers"
        if answers:
            kb.load_entailment()  # fails here once, not for each question
        writer = build.language_model(settings) if answers else None
        cutoff = fitted_cutoff(kb)
        if cell.values.get("refusal_threshold") and cutoff is None:
            raise UsageError(
                f"a refusal threshold needs a cut-off fitted to collection {collection!r}: fit"
                " one with 'ragkit eval calibrate', or take refusal_threshold out of the grid"
            )
        described = model_of(
            kb,
            generator=(writer.name if writer else "extractive") if answers else "search",
            passages=None if answers else DEPTH,
            templates=Templates(settings.prompts, collection) if writer else None,
            cutoff=cutoff,
            decoding=asdict(build.decoding(settings)) if writer else None,
            nli_model=settings.nli_model if answers else None,
            notes=self._print_new_notes(labelled, uris, kb),
        )
        return run_task(
            task,
            ask,
            {**described, "options": cell.options()},
            self.folder / f"{stage}-{cell.stem}.jsonl",
            concurrency=self.concurrency or (8 if writer else 1),
            label=cell.label,
            overwrite=self.overwrite,
            quiet=self.quiet,
        )

    def _open_task(self, labelled: LabelledSet, uris: Any, kb: KnowledgeBase) -> tuple[Task, Ask]:
        metric = self.grid.metric
        if self.grid.task == "retrieval":
            return retrieval_task(labelled, [metric] if metric else (), uris=uris), search_ask(kb)
        extra = () if metric in _STANDARD_METRICS else (metric,)
        return rag_task(labelled, metrics=extra, uris=uris), knowledge_ask(kb)


def settings_of(cell: Cell, settings: Settings) -> Settings:
    """Return the settings with a cell's values. Raises SettingsError naming the cell."""
    try:
        return settings_with(settings, cell.settings())
    except SettingsError as error:
        raise SettingsError(f"the cell {cell.label} cannot be used: {error}") from error


def settings_with(settings: Settings, values: Mapping[str, Any]) -> Settings:
    """Return the settings with some values replaced, and validated. Raises SettingsError."""
    from ragkit.settings.settings import Settings

    current = {name: getattr(settings, name) for name in settings.model_fields_set}
    return Settings(**{**current, **values})


def _adapt(kb: KnowledgeBase, cell: Cell) -> KnowledgeBase:
    values = cell.values
    return kb.adapted(
        mode=values.get("mode"),
        passages=values.get("passages"),
        refusal_threshold=values.get("refusal_threshold"),
        instructions=values.get("instructions", ""),
    )
