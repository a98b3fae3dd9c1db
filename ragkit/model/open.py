"""From the settings to a language model: what RAGKIT_LLM_URL may name.

Either the base URLs of OpenAI-compatible servers with spaces between them, or `local:MODEL` for a
model in this process, or `provider:NAME` for one of LangChain's integrations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragkit.types import Decoding

if TYPE_CHECKING:
    from ragkit.contracts import LanguageModel
    from ragkit.model.server import ModelServer
    from ragkit.settings.settings import Settings

LOCAL, PROVIDER = "local:", "provider:"


def open_model(settings: Settings) -> LanguageModel | None:
    """Return the language model of the settings, not yet loaded; None when they name none."""
    url = settings.llm_url
    if url is None:
        return None
    if url.startswith(LOCAL):
        return _local(settings, url.removeprefix(LOCAL))
    if url.startswith(PROVIDER):
        assert settings.llm_model is not None, "the settings have a provider with a model"
        return _provider(settings, url.removeprefix(PROVIDER), settings.llm_model)
    from ragkit.model.served import ServedModel

    return ServedModel(
        url.split(),
        settings.llm_model,
        api_key=_key(settings),
        decoding=decoding_of(settings),
        timeout_s=settings.llm_timeout_s,
        total_timeout_s=settings.llm_total_timeout_s,
        context_tokens=settings.llm_context_tokens,
        tokenizer=settings.llm_tokenizer,
    )


def is_served(settings: Settings) -> bool:
    """Tell whether the settings name a language-model server, or several."""
    return (settings.llm_url or "").startswith(("http://", "https://"))


def servers_of(settings: Settings) -> Sequence[ModelServer]:
    """Return the language-model servers that the settings name."""
    from ragkit.model.server import ModelServer

    urls = (settings.llm_url or "").split()
    return [ModelServer(url, _key(settings), settings.llm_timeout_s) for url in urls]


def decoding_of(settings: Settings) -> Decoding:
    """Return the decoding settings as one value."""
    return Decoding(
        temperature=settings.llm_temperature,
        max_tokens=settings.llm_max_tokens,
        seed=settings.llm_seed,
    )


def _local(settings: Settings, model: str) -> LanguageModel:
    from ragkit.model.local import LocalModel

    return LocalModel(
        model,
        decoding=decoding_of(settings),
        total_timeout_s=settings.llm_total_timeout_s,
        context_tokens=settings.llm_context_tokens,
    )


def _provider(settings: Settings, provider: str, model: str) -> LanguageModel:
    from ragkit.model.provider import ProviderModel

    return ProviderModel(
        provider,
        model,
        api_key=_key(settings),
        decoding=decoding_of(settings),
        timeout_s=settings.llm_timeout_s,
        total_timeout_s=settings.llm_total_timeout_s,
        context_tokens=settings.llm_context_tokens,
        tokenizer=settings.llm_tokenizer,
    )


def _key(settings: Settings) -> str | None:
    return settings.llm_api_key.get_secret_value() if settings.llm_api_key else None
