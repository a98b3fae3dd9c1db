"""Make the parts that the settings name. The one place where names become objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragkit.contracts import Embedder, Generator, LanguageModel, Reranker, Store
from ragkit.types import Decoding

if TYPE_CHECKING:
    from ragkit.answer.verify import Entails
    from ragkit.settings import Settings


def embedder(settings: Settings) -> Embedder:
    """Return the embedding model of the settings, not yet loaded."""
    from ragkit.embed.local import LocalEmbedder

    return LocalEmbedder(settings.embed_model, device=settings.embed_device)


def language_model(settings: Settings) -> LanguageModel | None:
    """Return the language model of the settings, not yet loaded; None when they name none."""
    from ragkit.model.open import open_model

    return open_model(settings)


def decoding(settings: Settings) -> Decoding:
    """Return how the settings want a language model to choose its tokens."""
    from ragkit.model.open import decoding_of

    return decoding_of(settings)


def generator(
    settings: Settings, store: Store, collection: str, *, decoding: Decoding | None = None
) -> Generator:
    """Return a generator with the settings' language model, or the extractive one without.

    `decoding` takes the place of the settings'.
    """
    model = language_model(settings)
    if model is None:
        from ragkit.answer.extract import ExtractiveGenerator
        from ragkit.retrieve.weights import term_weights

        return ExtractiveGenerator(lambda terms: term_weights(store, collection, terms))
    from ragkit.answer.llm import ChatGenerator
    from ragkit.answer.templates import Templates
    from ragkit.model.local import LocalModel
    from ragkit.model.open import decoding_of

    return ChatGenerator(
        model,
        decoding=decoding or decoding_of(settings),
        budget_tokens=settings.llm_budget_tokens,
        templates=Templates(settings.prompts, collection),
        on_cpu=isinstance(model, LocalModel) and not model.on_gpu,
    )


def entailment(settings: Settings) -> Entails | None:
    """Return the inference model that checks claims, not yet loaded; None when none is named."""
    from ragkit.answer.entailment import open_entailment

    return open_entailment(settings.nli_model)


def reranker(embedder: Embedder) -> Reranker:
    """Return what puts passages in order for a query, not yet loaded."""
    from ragkit.retrieve.rerank import CosineReranker

    return CosineReranker(embedder)
