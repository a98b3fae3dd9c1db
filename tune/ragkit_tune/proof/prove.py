"""Prove a model: by the real search and the real answers, against what is used now."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ragkit.errors import RagkitError, UsageError
from ragkit.system.private_files import make_private
from ragkit_tune.data.data_set import DataSet, hash_file, read_objects
from ragkit_tune.data.sources import Sources
from ragkit_tune.proof.candidate import Candidate, trained_on, write_verdict
from ragkit_tune.proof.leaks import check_untouched
from ragkit_tune.proof.ledger import Trial, add_trial, earlier_trials, hash_questions
from ragkit_tune.proof.measure import Measured, Measuring, Proof
from ragkit_tune.proof.model_card import write_card
from ragkit_tune.proof.spaces import active_space, contents_of, drop_space
from ragkit_tune.proof.verdict import Verdict, decide

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings

_NO_ROWS: Final = (
    "the rows that this model was trained on are not known: whether it saw these questions is"
    " yours to say"
)


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
        measured = Measuring(proof, database, active, questions, collection, folder).run()
    texts = [str(row.get("question", "")) for _, row in read_objects(questions)]
    trial = Trial(hash_questions(texts), collection, weights, candidate.name, measured.main.p)
    verdict = decide(
        measured.main,
        measured.guards,
        earlier=[other.p for other in earlier_trials(settings, trial)],
        reported=measured.reported,
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


def _drop_unused(proof: Proof, measured: Measured, verdict: Verdict) -> None:
    """Delete the vectors that were built for the proof, but those that adoption switches to."""
    from ragkit.store.open import open_database

    collection = (verdict.facts or {}).get("collection")
    with open_database(proof.settings) as database:
        for name, space in measured.spaces:
            if verdict.outcome != "better" or name != collection:
                drop_space(database, proof.settings, name, space)
