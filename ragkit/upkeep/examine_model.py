"""What there is to say of the language model that the settings name, for `ragkit doctor`.

It asks servers what they serve and counts a few tokens; it asks no model for an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from ragkit.answer.write.llm import UNKNOWN_CONTEXT_TOKENS
from ragkit.errors import ModelServerError
from ragkit.model.bridge import run
from ragkit.model.choice import offered
from ragkit.model.failures import explain, foreign_errors
from ragkit.model.local import LocalModel
from ragkit.model.open import open_model
from ragkit.model.provider import ProviderModel
from ragkit.model.served import ServedModel
from ragkit.model.server import PROBE_TIMEOUT_S, ModelServer, served

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings

SAMPLE = "Which tokens? 哪些词元？"  # any text that no server has been asked to count before


@dataclass(frozen=True, slots=True)
class Examined:
    """Whether the model can be used, what was found, and what to do if it cannot."""

    ok: bool
    found: str
    remedy: str = ""


def examine_model(settings: Settings) -> Examined:
    """Look at the model that the settings name. Raises SettingsError, ModelError."""
    model = open_model(settings)
    assert model is not None, "the settings name a model"
    if isinstance(model, ServedModel):
        name = model.name
        problems = [line for server in model.servers for line in _problems(server, name)]
        if problems:
            return Examined(False, "; ".join(problems), "see RAGKIT_LLM_URL and RAGKIT_LLM_MODEL")
        count = len(model.servers)
        where = _chosen(model.servers) if settings.llm_model is None else ""
        where += "reachable" if count == 1 else f"{count} servers reachable"
    else:
        assert isinstance(model, LocalModel | ProviderModel)
        model.load()
        where = "in this process" if isinstance(model, LocalModel) else "its provider is set up"
    model.count_tokens([SAMPLE])
    context = model.context_tokens()
    if context is None:
        length = f"taken as {UNKNOWN_CONTEXT_TOKENS} tokens (RAGKIT_LLM_CONTEXT_TOKENS sets it)"
    else:
        length = f"{context} tokens"
    return Examined(
        True, f"{model.name}, {where}; context {length}; tokens counted by {model.counting}"
    )


def probe(url: str, api_key: str | None = None, *, timeout_s: float = PROBE_TIMEOUT_S) -> list[str]:
    """List the models that a server serves. Raises SettingsError, ModelServerError."""
    server = ModelServer(url, api_key, timeout_s)
    server.check()
    try:
        return [model.name for model in run(served(server))]
    except foreign_errors() as error:
        raise ModelServerError(str(run(explain(error, server)))) from error


def _chosen(servers: Sequence[ModelServer]) -> str:
    count = len(offered(servers, max_age_s=inf))
    if count == 1:
        return "the only model there, "
    return f"the first of {count} models there (RAGKIT_LLM_MODEL names another), "


def _problems(server: ModelServer, model: str) -> Sequence[str]:
    try:
        names = probe(server.url, server.api_key, timeout_s=min(PROBE_TIMEOUT_S, server.timeout_s))
    except ModelServerError as error:
        return [str(error)]
    if model in names:
        return []
    return [f"the server {server.shown} has {', '.join(names) or 'no model'}, not {model}"]
