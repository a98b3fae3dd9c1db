"""Which model answers where RAGKIT_LLM_MODEL names none: the only one that the server has."""

from __future__ import annotations

from collections.abc import Sequence

from ragkit.errors import SettingsError
from ragkit.model.bridge import run
from ragkit.model.failures import Failure, explain, failed, foreign_errors, listed
from ragkit.model.server import ModelServer, served

_names: dict[tuple[ModelServer, ...], str] = {}  # of this process: a server is asked once


def only_model(servers: Sequence[ModelServer]) -> str:
    """Return the name of the only model of the first server that answers.

    Raises SettingsError where it has none or several, ModelServerError where no server answers.
    """
    key = tuple(servers)
    if key not in _names:
        _names[key] = run(_ask(key))
    return _names[key]


async def _ask(servers: Sequence[ModelServer]) -> str:
    failures: list[Failure] = []
    for server in servers:
        server.check()
        try:
            models = await served(server)
        except foreign_errors() as error:
            failures.append(await explain(error, server))
            continue
        names = list(dict.fromkeys(model.name for model in models))
        if len(names) == 1:
            return names[0]
        raise _choose(server, names)
    raise failed(failures, "; ".join(map(str, failures)))


def _choose(server: ModelServer, names: Sequence[str]) -> SettingsError:
    if not names:
        return SettingsError(
            f"The language-model server {server.shown} has no model: give it one (Ollama:"
            " `ollama pull qwen2.5:3b`), or correct RAGKIT_LLM_URL."
        )
    return SettingsError(
        f"Several models are there ({listed(names, server)}): set RAGKIT_LLM_MODEL to one of them."
    )
