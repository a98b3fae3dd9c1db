"""Measure a candidate: build its vectors, and run the evaluations of both sides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ragkit_tune.data.data_set import read_objects
from ragkit_tune.proof.candidate import Candidate
from ragkit_tune.proof.guards import (
    Guard,
    GuardSet,
    GuardTask,
    handbook_folder,
    handbook_guards,
    named_guards,
    other_languages,
    read_tasks,
    split_tasks,
)
from ragkit_tune.proof.programs import (
    ANSWER_MEASURE,
    Evaluations,
    Program,
    run_ragkit,
    variables_of,
)
from ragkit_tune.proof.served import compared_model
from ragkit_tune.proof.spaces import build_space, drop_space, name_space
from ragkit_tune.proof.verdict import Difference

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit.store.open import Database
    from ragkit.store.vectors.active_space import KeptSpace

# Of answers: a model may find better and answer worse.
# A model that stops citing has no citations that could be wrong: its recall falls.
_REFUSALS: Final = "refused_rightly"
_ADAPTER_GUARDS: Final = (_REFUSALS, "citation_validity", "citation_recall")
ANSWER_MEASURES: Final = (ANSWER_MEASURE, *_ADAPTER_GUARDS, "groundedness")
_NO_HANDBOOK: Final = (
    "not guarded by the example handbook, which is not installed here: name questions of another"
    " subject with --guard SET=COLLECTION"
)
_NO_TASK: Final = (
    "not guarded by what the model knew before: name a task with --guard mmlu, and the folder with"
    " its data as RAGKIT_EVAL_DATA"
)

Progress = Callable[[str], None]


@dataclass(slots=True)
class Proof:
    """What is proven, on what, and how; `prove` fills it with defaults and runs it."""

    candidate: Candidate
    settings: Settings
    questions: Path | None = None
    collection: str | None = None
    guards: Sequence[str] = ()
    handbook: bool = True
    program: Program = run_ragkit
    progress: Progress = lambda stage: None
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Measured:
    """The differences of a proof, by what they are for, and the spaces that were built for it."""

    main: Difference
    baseline: str
    reported: list[Difference] = field(default_factory=list)
    guards: list[Difference] = field(default_factory=list)
    spaces: list[tuple[str, KeptSpace]] = field(default_factory=list)  # built for this proof alone


@dataclass(slots=True)
class Measuring:
    """Runs the evaluations of a proof, in an open database."""

    proof: Proof
    database: Database
    active: KeptSpace
    questions: Path
    collection: str
    folder: Path
    spaces: list[tuple[str, KeptSpace]] = field(default_factory=list)
    baseline: str = ""

    def run(self) -> Measured:
        """Measure; on an error the vectors that were built are deleted."""
        proof = self.proof
        self.baseline = self._baseline()
        variables = variables_of(proof.settings)
        guards = self._guards(variables)
        with ExitStack() as on_error:
            on_error.callback(self._drop_spaces)
            evaluations = self._evaluations(variables, guards)
            if proof.candidate.kind == "adapter":
                measured = self._measure_answers(evaluations)
            else:
                measured = self._measure_search(evaluations)
            measured.guards += [self._measure_guard(evaluations, guard) for guard in guards]
            on_error.pop_all()
        measured.spaces = self.spaces
        return measured

    def _guards(self, variables: dict[str, str]) -> list[Guard]:
        proof = self.proof
        sets, tasks = list(proof.guards), list[str]()
        if proof.candidate.kind == "adapter":
            sets, tasks = split_tasks(proof.guards)
            if not tasks:
                proof.notes.append(_NO_TASK)
        guards: list[Guard] = [*named_guards(sets, self.collection)]
        guards += read_tasks(tasks, proof.program, variables)
        guards += other_languages(self.questions, self.collection, self.folder)
        if proof.handbook:
            guards += handbook_guards(
                proof.settings, self.active, proof.program, variables, proof.progress
            )
            if handbook_folder() is None:
                proof.notes.append(_NO_HANDBOOK)
        return guards

    def _measure_guard(self, evaluations: Evaluations, guard: Guard) -> Difference:
        """Measure what a search finds, or what a language model answers."""
        name = _file_name(guard)
        if isinstance(guard, GuardTask):
            row = evaluations.task(name, guard.task, guard.measure)
        elif self.proof.candidate.kind == "adapter":
            measure = ANSWER_MEASURE if _has_answers(guard.questions) else _REFUSALS
            (row,) = evaluations.answers(name, guard.questions, guard.collection, [measure])
        else:
            row = evaluations.search(name, guard.questions, guard.collection)
        return replace(row, name=guard.name)

    def _evaluations(self, variables: dict[str, str], guards: Sequence[Guard]) -> Evaluations:
        proof, candidate = self.proof, self.proof.candidate
        options: list[str] = []
        changed: dict[str, str] = {}
        if candidate.kind == "embedder":
            asked = [guard.collection for guard in guards if isinstance(guard, GuardSet)]
            for name in dict.fromkeys([self.collection, *asked]):
                self._build(name)
            options = ["--with-model", str(candidate.model)]
        elif candidate.kind == "reranker":
            changed = {"RAGKIT_RERANKER": str(candidate.model)}
        else:
            variables = {**variables, "RAGKIT_LLM_MODEL": self.baseline}
            changed = {"RAGKIT_LLM_MODEL": candidate.name}
        return Evaluations(
            proof.program,
            self.folder,
            variables=variables,
            candidate=options,
            candidate_variables=changed,
            total=2 * self._count_comparisons(len(guards)),
            progress=proof.progress,
        )

    def _count_comparisons(self, guards: int) -> int:
        kind = self.proof.candidate.kind
        if kind == "adapter":
            return 1 + guards
        return 1 + (kind == "embedder") + _has_answers(self.questions) + guards

    def _build(self, collection: str) -> None:
        proof = self.proof
        proof.progress(f"{collection}: embedding with the candidate")
        built, is_new = build_space(
            self.database, proof.settings, collection, proof.candidate.model
        )
        if is_new:
            self.spaces.append((collection, built.space))

    def _drop_spaces(self) -> None:
        for collection, space in self.spaces:
            drop_space(self.database, self.proof.settings, collection, space)

    def _measure_search(self, evaluations: Evaluations) -> Measured:
        main = evaluations.search("hybrid", self.questions, self.collection)
        measured = Measured(main, self.baseline)
        if self.proof.candidate.kind == "embedder":
            dense = evaluations.search("dense", self.questions, self.collection, "dense")
            measured.reported.append(dense)
        if _has_answers(self.questions):
            measured.reported += evaluations.answers(
                "answers", self.questions, self.collection, [ANSWER_MEASURE]
            )
        return measured

    def _measure_answers(self, evaluations: Evaluations) -> Measured:
        rows = evaluations.answers("answers", self.questions, self.collection, ANSWER_MEASURES)
        by_measure = {row.measure: row for row in rows}
        measured = Measured(by_measure.pop(ANSWER_MEASURE), self.baseline)
        for name, row in by_measure.items():
            side = measured.guards if name in _ADAPTER_GUARDS else measured.reported
            side.append(replace(row, name=name))
        self.proof.notes += [
            f"{name} guards nothing: the answers of one model, or of both, have no value of it"
            for name in _ADAPTER_GUARDS
            if name not in by_measure
        ]
        return measured

    def _baseline(self) -> str:
        """Name what the candidate is compared with. Raises UsageError for an unserved adapter."""
        settings = self.proof.settings
        if self.proof.candidate.kind == "embedder":
            return name_space(self.active)
        if self.proof.candidate.kind == "reranker":
            from ragkit.settings.secrets import masked

            named = settings.reranker
            return "no reranker" if named is None else str(masked("reranker", named))
        return compared_model(self.proof.candidate, settings)


def _has_answers(questions: Path) -> bool:
    """Tell whether all questions say what answers them, or that nothing does."""
    rows = [row for _, row in read_objects(questions)]
    return any(row.get("answers") for row in rows) and all(
        row.get("answers") or row.get("answerable") is False for row in rows
    )


def _file_name(guard: Guard) -> str:
    return "guard-" + "-".join(guard.name.replace(":", " ").split())
