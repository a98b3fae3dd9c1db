"""Make the parts that the settings name. The one place where names become objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragkit.contracts import Embedder, Generator, Store

if TYPE_CHECKING:
    from ragkit.settings import Settings


def embedder(settings: Settings) -> Embedder:
    """Return the embedding model of the settings, not yet loaded."""
    from ragkit.embed.local import LocalEmbedder

    return LocalEmbedder(settings.embed_model, device=settings.embed_device)


def generator(settings: Settings, store: Store, collection: str) -> Generator:
    """Return the language model of the settings, or the extractive generator without one."""
    if settings.llm_url is None or settings.llm_model is None:
        from ragkit.answer.extract import ExtractiveGenerator
        from ragkit.retrieve.weights import term_weights

        return ExtractiveGenerator(lambda terms: term_weights(store, collection, terms))
    from ragkit.answer.llm import ChatGenerator

    key = settings.llm_api_key
    return ChatGenerator(
        settings.llm_url,
        settings.llm_model,
        api_key=key.get_secret_value() if key else None,
        timeout_s=settings.llm_timeout_s,
    )
