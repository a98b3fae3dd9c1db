"""Whether a model may be adopted: it is proven better than what is used now, and unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragkit.errors import ModelError
from ragkit_tune.proof.ledger import Trial, earlier_trials
from ragkit_tune.proof.verdict import LEVEL, Verdict, holm

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit_tune.proof.candidate import Candidate


def check_proven(candidate: Candidate, settings: Settings, collection: str) -> Verdict:
    """Return the verdict by which a model may be adopted in a collection.

    Raises ModelError naming the verdict: none, not better, of another collection, of other weights,
    or no longer shown since further models were tried on the same questions.
    """
    verdict = candidate.verdict()
    if verdict is None:
        raise ModelError(
            f"{candidate.name} is unproven: run `ragkit tune prove {candidate.name}`{_ANYWAY}"
        )
    facts = verdict.facts or {}
    if facts.get("model") != candidate.hash():
        raise ModelError(
            f"{candidate.model} changed since its proof of {facts.get('proven_at')}: restore it, or"
            f" prove it again{_ANYWAY}"
        )
    if verdict.outcome != "better":
        raise ModelError(
            f"{candidate.name} is not proven better, the verdict is {verdict.sentence}:"
            f" keep what is used now{_ANYWAY}"
        )
    if candidate.kind == "embedder" and facts.get("collection") != collection:
        raise ModelError(
            f"{candidate.name} is proven in collection {facts.get('collection')!r}, not in"
            f" {collection!r}: prove it there{_ANYWAY}"
        )
    trial = Trial(
        str(facts.get("trial")),
        str(facts.get("collection")),
        str(facts.get("model")),
        candidate.name,
        verdict.main.p,
    )
    trials = earlier_trials(settings, trial)
    p = holm(verdict.main.p, [other.p for other in trials])
    if p > LEVEL:
        raise ModelError(
            f"{candidate.name} was {verdict.sentence}, but {len(trials) + 1} models were tried on"
            f" these questions since: p is {p:.2g} now, no difference; prove it on new questions"
            f"{_ANYWAY}"
        )
    return verdict


_ANYWAY = ", or use it all the same with --unproven"
