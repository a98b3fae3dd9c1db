"""Prove a model: by the real search and the real answers, against what is used now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ragkit.errors import RagkitError, UsageError
from ragkit.system.private_files import make_private
from ragkit_tune.data.data_set import DataSet, hash_file, read_objects
from ragkit_tune.data.sources import Sources
from ragkit_tune.proof.candidate import Candidate, trained_on, write_verdict
from ragkit_tune.proof.guards import (
    GuardSet,
    handbook_folder,
    handbook_guards,
    named_guards,
    other_languages,
)
from ragkit_tune.proof.leaks import check_untouched
from ragkit_tune.proof.ledger import Trial, add_trial, earlier_trials, hash_questions
from ragkit_tune.proof.model_card import write_card
from ragkit_tune.proof.programs import (
    ANSWER_MEASURE,
    Evaluations,
    Program,
    run_ragkit,
    variables_of,
)
from ragkit_tune.proof.spaces import (
    active_space,
    build_space,
    contents_of,
    drop_space,
    name_space,
)
from ragkit_tune.proof.verdict import Difference, Verdict, decide

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit.store.open import Database
    from ragkit.store.vectors.active_space import KeptSpace

# Of answers: a model may find better and answer worse.
ANSWER_MEASURES: Final = (ANSWER_MEASURE, "refused_rightly", "citation_validity", "groundedness")
_ADAPTER_GUARDS: Final = ("refused_rightly", "citation_validity")
_NO_HANDBOOK: Final = (
    "the example handbook is not installed: nothing guards against forgetting but --guard SET"
)
_NO_ROWS: Final = (
    "the rows that this model was trained on are not known: whether it saw these questions is"
    " yours to say"
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


def prove(proof: Proof) -> Verdict:
    """Compare a model with what is used now, decide, and keep the verdict with the model.

    Raises UsageError for a model that changed since its last verdict, for questions that it was
    trained on, and where there are no questions; and what evaluations raise.
    """
    from ragkit.store.open import open_database

    candidate, settings = proof.candidate, proof.settings
    weights = _check_unchanged(candidate)
    sets = trained_on(candidate, settings)
    questions = _find_questions(proof, sets)
    collection = proof.collection or _collection_of(sets) or settings.collection
    folder = _make_folder(candidate, settings, weights)
    with open_database(settings) as database:
        store = database.store(settings.tenant)
        active = active_space(store, collection)
        contents = contents_of(store, collection)
        if not sets:
            proof.notes.append(_NO_ROWS)
        elif proof.questions is not None:
            proof.progress("comparing the questions with the rows that were trained on")
            check_untouched(questions, sets, Sources(store, collection))
        measured = _Measuring(proof, database, active, questions, collection, folder).run()
    texts = [str(row.get("question", "")) for _, row in read_objects(questions)]
    trial = Trial(hash_questions(texts), collection, weights, candidate.name, measured.main.p)
    verdict = decide(
        measured.main,
        measured.guards,
        earlier=[other.p for other in earlier_trials(settings, trial)],
        others=measured.others,
        notes=proof.notes,
        facts={
            "model": weights,
            "kind": candidate.kind,
            "collection": collection,
            "baseline": measured.baseline,
            "questions": str(questions),
            "questions_hash": hash_file(questions),
            **contents,
            "trial": trial.questions,
            "proven_at": datetime.now(UTC).isoformat(timespec="seconds"),
        },
    )
    add_trial(settings, trial)
    write_verdict(candidate, verdict)
    write_card(candidate, verdict, sets)
    _drop_unused(proof, measured, verdict)
    return verdict


@dataclass(slots=True)
class _Measured:
    main: Difference
    baseline: str
    others: list[Difference] = field(default_factory=list)
    guards: list[Difference] = field(default_factory=list)
    spaces: list[tuple[str, KeptSpace]] = field(default_factory=list)  # built for this proof alone


@dataclass(slots=True)
class _Measuring:
    """Runs the evaluations of a proof, in an open database."""

    proof: Proof
    database: Database
    active: KeptSpace
    questions: Path
    collection: str
    folder: Path
    spaces: list[tuple[str, KeptSpace]] = field(default_factory=list)

    def run(self) -> _Measured:
        proof = self.proof
        variables = variables_of(proof.settings)
        guards = self._guards(variables)
        with ExitStack() as on_error:
            on_error.callback(self._drop_spaces)
            evaluations = self._evaluations(variables, [guard.collection for guard in guards])
            if proof.candidate.kind == "adapter":
                measured = self._measure_answers(evaluations)
            else:
                measured = self._measure_search(evaluations)
            measured.guards += [
                replace(evaluations.search(_file_name(guard), guard.questions, guard.collection),
                        name=guard.name)
                for guard in guards
            ]  # fmt: skip
            on_error.pop_all()
        measured.spaces = self.spaces
        return measured

    def _guards(self, variables: dict[str, str]) -> list[GuardSet]:
        proof = self.proof
        if proof.candidate.kind == "adapter":
            return []
        guards = other_languages(self.questions, self.collection, self.folder)
        if proof.handbook:
            guards += handbook_guards(
                proof.settings, self.active, proof.program, variables, proof.progress
            )
            if handbook_folder() is None:
                proof.notes.append(_NO_HANDBOOK)
        return guards + named_guards(proof.guards, self.collection)

    def _evaluations(self, variables: dict[str, str], guarded: Sequence[str]) -> Evaluations:
        proof, candidate = self.proof, self.proof.candidate
        options: list[str] = []
        changed: dict[str, str] = {}
        if candidate.kind == "embedder":
            for name in dict.fromkeys([self.collection, *guarded]):
                self._build(name)
            options = ["--with-model", str(candidate.model)]
        elif candidate.kind == "reranker":
            changed = {"RAGKIT_RERANKER": str(candidate.model)}
        else:
            changed = {"RAGKIT_LLM_MODEL": candidate.name}
        return Evaluations(
            proof.program,
            self.folder,
            variables=variables,
            candidate=options,
            candidate_variables=changed,
            progress=proof.progress,
        )

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

    def _measure_search(self, evaluations: Evaluations) -> _Measured:
        main = evaluations.search("hybrid", self.questions, self.collection)
        measured = _Measured(main, self._baseline())
        if self.proof.candidate.kind == "embedder":
            dense = evaluations.search("dense", self.questions, self.collection, "dense")
            measured.others.append(dense)
        if _has_answers(self.questions):
            measured.others += evaluations.answers(
                "answers", self.questions, self.collection, [ANSWER_MEASURE]
            )
        return measured

    def _measure_answers(self, evaluations: Evaluations) -> _Measured:
        if self.proof.settings.llm_url is None:
            raise UsageError(
                "an adapter is proven by its answers, and no language model is set: serve it beside"
                f" its base (`ragkit model serve BASE --lora {self.proof.candidate.name}="
                f"{self.proof.candidate.model}`) and set RAGKIT_LLM_URL and RAGKIT_LLM_MODEL"
            )
        rows = evaluations.answers("answers", self.questions, self.collection, ANSWER_MEASURES)
        by_measure = {row.measure: row for row in rows}
        measured = _Measured(by_measure.pop(ANSWER_MEASURE), self._baseline())
        for name, row in by_measure.items():
            side = measured.guards if name in _ADAPTER_GUARDS else measured.others
            side.append(replace(row, name=name))
        return measured

    def _baseline(self) -> str:
        settings = self.proof.settings
        if self.proof.candidate.kind == "embedder":
            return name_space(self.active)
        if self.proof.candidate.kind == "reranker":
            from ragkit.settings.secrets import masked

            named = settings.reranker
            return "no reranker" if named is None else str(masked("reranker", named))
        return settings.llm_model or "the server's first model"


def _check_unchanged(candidate: Candidate) -> str:
    """Return the model's hash. Raises UsageError for a run whose model is not the proven one."""
    weights = candidate.hash()
    earlier = candidate.verdict() if candidate.run is not None else None
    if earlier is not None and (earlier.facts or {}).get("model") != weights:
        raise UsageError(
            f"the model of run {candidate.name} changed since its proof of"
            f" {(earlier.facts or {}).get('proven_at')}: restore {candidate.model}, or copy it to"
            " another folder and prove that"
        )
    return weights


def _find_questions(proof: Proof, sets: Sequence[DataSet]) -> Path:
    if proof.questions is not None:
        return proof.questions
    if proof.candidate.run is None or not sets:
        raise UsageError(
            f"{proof.candidate.name} has no test questions of its own: name a labelled set with"
            " --set FILE.jsonl"
        )
    questions = sets[0].path("test")
    if not sets[0].counts["test"]:
        raise UsageError(f"{questions} has no questions: name a labelled set with --set FILE.jsonl")
    return questions


def _collection_of(sets: Sequence[DataSet]) -> str:
    names = [str(data.card.get("collection") or "") for data in sets]
    return names[0] if names else ""


def _make_folder(candidate: Candidate, settings: Settings, weights: str) -> Path:
    folder = (
        settings.home / "tune" / ".proofs" / weights[:12]
        if candidate.run is None
        else candidate.folder / "proof"
    )
    try:
        make_private(folder)
    except OSError as error:
        raise RagkitError(f"{folder} cannot be made: {error.strerror}") from error
    return folder


def _has_answers(questions: Path) -> bool:
    """Tell whether all questions say what answers them, or that nothing does."""
    return all(
        bool(row.get("answers")) or isinstance(row.get("answerable"), bool)
        for _, row in read_objects(questions)
    )


def _file_name(guard: GuardSet) -> str:
    return "guard-" + "-".join(guard.name.split())


def _drop_unused(proof: Proof, measured: _Measured, verdict: Verdict) -> None:
    """Delete the vectors that were built for the proof, but those that adoption switches to."""
    from ragkit.store.open import open_database

    collection = (verdict.facts or {}).get("collection")
    with open_database(proof.settings) as database:
        for name, space in measured.spaces:
            if verdict.outcome != "better" or name != collection:
                drop_space(database, proof.settings, name, space)
