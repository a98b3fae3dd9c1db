"""The settings' language models as LangChain chat models, which agents need for their tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragkit.errors import ModelError, SettingsError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from ragkit.settings.settings import Settings


def chat_models(settings: Settings) -> list[BaseChatModel]:
    """Make a chat model for each URL of the settings, or for their provider.

    Raises SettingsError without a language model or with one in process, which calls no tools,
    ModelError when the provider's package is missing, and what `default_model` does.
    """
    from ragkit.model.choice import default_model
    from ragkit.model.open import servers_of

    url = settings.llm_url
    if url is None:
        raise SettingsError(
            "agent mode needs a language model: set RAGKIT_LLM_URL, to Ollama for example"
            " http://127.0.0.1:11434/v1"
        )
    kind, _, provider = url.partition(":")
    if kind == "local":
        raise SettingsError(
            "a model in process cannot call tools: serve it with `ragkit model serve` and set"
            " RAGKIT_LLM_URL to its address"
        )
    if kind == "provider":
        return [_provider(settings, provider)]
    model = settings.llm_model or default_model(servers_of(settings))
    return [_server(settings, address, model) for address in url.split()]


def _server(settings: Settings, url: str, model: str) -> BaseChatModel:
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    return ChatOpenAI(
        model=model,
        base_url=url,
        api_key=settings.llm_api_key or SecretStr("EMPTY"),
        timeout=settings.llm_timeout_s,
        temperature=settings.llm_temperature,
        seed=settings.llm_seed,
        max_retries=1,
        use_responses_api=False,
        # ChatOpenAI would rename it to max_completion_tokens, which not every server knows.
        extra_body={"max_tokens": settings.llm_max_tokens},
    )


def _provider(settings: Settings, provider: str) -> BaseChatModel:
    from langchain.chat_models import init_chat_model

    assert settings.llm_model is not None, "the settings have a provider with a model"
    try:
        return init_chat_model(
            settings.llm_model,
            model_provider=provider,
            temperature=settings.llm_temperature,
            max_tokens=settings.llm_max_tokens,
        )
    except (ImportError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ModelError(f"provider {provider!r} cannot be used: {reason}") from error
