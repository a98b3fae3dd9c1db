"""Which models a server offers for answers, and which answers where RAGKIT_LLM_MODEL names none."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from math import inf
from typing import Final

from ragkit.errors import SettingsError
from ragkit.model.bridge import run
from ragkit.model.failures import Failure, explain, failed, foreign_errors
from ragkit.model.server import ModelServer, served

# Ollama and others list models of every kind and say nothing of what they are for: patterns of the
# names of those that embed and those that rank.
EMBEDDERS: Final = r"embed|all-minilm|paraphrase-|(?:^|[/_-])(?:bge|gte|e5)(?:-|$)"
RERANKERS: Final = r"rerank"
_NO_CHAT: Final = re.compile(
    rf"{EMBEDDERS}|{RERANKERS}|whisper|(?:^|[/_-])tts(?:-|$)", re.IGNORECASE
)
_lists: dict[tuple[ModelServer, ...], tuple[float, tuple[str, ...]]] = {}  # of this process


def offered(servers: Sequence[ModelServer], *, max_age_s: float = 0.0) -> tuple[str, ...]:
    """List the models that can write answers at the first server that answers, in its order.

    Models whose names say that they embed, rerank or speak are left out. A list no older than
    `max_age_s` is not asked for again. Raises SettingsError where there is no such model,
    ModelServerError where no server answers.
    """
    key = tuple(servers)
    if key not in _lists or time.monotonic() - _lists[key][0] > max_age_s:
        _lists[key] = (time.monotonic(), run(_ask(key)))
    return _lists[key][1]


def default_model(servers: Sequence[ModelServer]) -> str:
    """Return the first of the models that `offered` lists; a process asks for it once.

    Raises what `offered` does.
    """
    return offered(servers, max_age_s=inf)[0]


async def _ask(servers: Sequence[ModelServer]) -> tuple[str, ...]:
    failures: list[Failure] = []
    for server in servers:
        server.check()
        try:
            models = await served(server)
        except foreign_errors() as error:
            failures.append(await explain(error, server))
            continue
        names = dict.fromkeys(model.name for model in models)
        chat = tuple(name for name in names if not _NO_CHAT.search(name))
        if not chat:
            raise _nothing(server)
        return chat
    raise failed(failures, "; ".join(map(str, failures)))


def _nothing(server: ModelServer) -> SettingsError:
    return SettingsError(
        f"The language-model server {server.shown} has no model that can write answers: give it one"
        " (Ollama: `ollama pull qwen2.5:3b`), or correct RAGKIT_LLM_URL."
    )
