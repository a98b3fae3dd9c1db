"""An adapter and what it is compared with: two names of one model server."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ragkit.errors import UsageError

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit_tune.proof.candidate import Candidate


def serve_command(candidate: Candidate) -> str:
    """Return the command that serves an adapter beside its base, as a shell reads it.

    The base is named by its folder, which holds the very weights that it was trained on.
    """
    values = (candidate.run.values if candidate.run else {}).get("base") or {}
    base = str(values.get("folder") or values.get("name") or "BASE")
    adapter = f"{candidate.name}={candidate.model}"
    return shlex.join(["ragkit", "model", "serve", base, "--lora", adapter])


def compared_model(candidate: Candidate, settings: Settings) -> str:
    """Return the model that answers now, which an adapter is compared with.

    Raises UsageError where no language model is set, where the server offers not both, and where
    the adapter is what answers now; ModelServerError where no server answers.
    """
    from ragkit.model.choice import offered
    from ragkit.model.open import is_served, servers_of
    from ragkit.settings.secrets import masked

    remedy = f"serve it beside its base (`{serve_command(candidate)}`)"
    if settings.llm_url is None:
        raise UsageError(
            "an adapter is proven by its answers, and no language model is set:"
            f" {remedy} and set RAGKIT_LLM_URL and RAGKIT_LLM_MODEL"
        )
    models = offered(servers_of(settings)) if is_served(settings) else ()
    baseline = settings.llm_model or next(iter(models), "")
    if baseline == candidate.name:
        raise UsageError(
            f"{candidate.name} is the model that answers now: undo its adoption first (`ragkit tune"
            f" adopt {candidate.name} --undo`), or name what to compare it with in RAGKIT_LLM_MODEL"
        )
    for name in (baseline, candidate.name):
        if models and name not in models:  # a provider lists none
            raise UsageError(
                f"{masked('llm_url', settings.llm_url)} offers {', '.join(models)} and no {name}:"
                f" {remedy}, or correct RAGKIT_LLM_MODEL"
            )
    return baseline
