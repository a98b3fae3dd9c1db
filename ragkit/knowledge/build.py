"""Build the objects that the settings name: the one place where names become objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ragkit.contracts import Embedder, Generator, LanguageModel, Refinement, Reranker, Store
from ragkit.types import Decoding, Fields, Query

if TYPE_CHECKING:
    from ragkit.answer.check.verify import Entails
    from ragkit.answer.meaning import Meaning
    from ragkit.settings.settings import Settings


def embedder(settings: Settings) -> Embedder:
    """Return the embedding model of the settings, not yet loaded."""
    if settings.embed_url is not None:
        from ragkit.knowledge.open_embedder import open_served

        return open_served(settings)
    from ragkit.embed.local import LocalEmbedder

    return LocalEmbedder(
        settings.embed_model, device=settings.embed_device, dimension=settings.embed_dimension
    )


def language_model(settings: Settings) -> LanguageModel | None:
    """Return the language model of the settings, not yet loaded; None when they name none."""
    from ragkit.model.open import open_model

    return open_model(settings)


def decoding(settings: Settings) -> Decoding:
    """Return how the settings want a language model to choose its tokens."""
    from ragkit.model.open import decoding_of

    return decoding_of(settings)


def generator(
    settings: Settings,
    store: Store,
    collection: str,
    *,
    decoding: Decoding | None = None,
    model: LanguageModel | None = None,
    meaning: Meaning | None = None,
) -> Generator:
    """Return a generator with the settings' language model, or the extractive one without.

    `decoding` and `model` take the place of the settings'. The extractive one compares sentences
    by `meaning`.
    """
    model = model or language_model(settings)
    if model is None:
        from ragkit.answer.write.extract import ExtractiveGenerator
        from ragkit.retrieve.words.weights import term_weights

        return ExtractiveGenerator(
            lambda terms: term_weights(store, collection, terms), meaning=meaning
        )
    from ragkit.answer.write.llm import ChatGenerator
    from ragkit.model.local import LocalModel
    from ragkit.model.open import decoding_of
    from ragkit.prompts.templates import Templates

    return ChatGenerator(
        model,
        decoding=decoding or decoding_of(settings),
        budget_tokens=settings.llm_budget_tokens,
        templates=Templates(settings.prompts, collection),
        on_cpu=isinstance(model, LocalModel) and not model.on_gpu,
    )


def entailment(settings: Settings) -> Entails | None:
    """Return the inference model that checks claims, not yet loaded; None when none is named."""
    from ragkit.answer.check.entailment import open_entailment

    return open_entailment(settings.nli_model)


def reranker(settings: Settings, embedder: Embedder) -> Reranker | None:
    """Return what puts passages in order for a query, not yet loaded; None when none is named."""
    from ragkit.knowledge.open_reranker import open_reranker

    return open_reranker(settings, embedder)


def refinements(settings: Settings, store: Store, collection: str) -> list[Refinement]:
    """Return what is done to hits in their final order; nothing unless the settings say so."""
    from ragkit.retrieve.steps.diversity import Diversify, PerDocument

    steps: list[Refinement] = []
    if settings.diversity:
        steps.append(Diversify(store, collection, weight=settings.diversity))
    if settings.max_per_document is not None:
        steps.append(PerDocument(settings.max_per_document))
    return steps


def widening(settings: Settings, store: Store) -> list[Refinement]:
    """Return what shows more of a document around each hit: its parent, and what is set."""
    from ragkit.retrieve.steps.parents import Parents

    steps: list[Refinement] = [Parents(store)]
    if settings.expand != "none":
        from ragkit.retrieve.steps.expand import Widen

        steps.append(Widen(store, settings.expand))
    return steps


def plan(
    settings: Settings, store: Store, collection: str, *, model: LanguageModel | None = None
) -> Callable[[str], Query]:
    """Return what makes a query of a question, with the settings' language model where it helps.

    `model` takes its place.
    """
    if settings.queries == "one" and settings.infer_filters == "off":
        return Query
    from ragkit.prompts.templates import Templates
    from ragkit.question.plan import Planner

    def fields() -> Fields:
        with store.snapshot() as reader:
            return reader.fields(collection)

    return Planner(
        queries=settings.queries,
        model=model or language_model(settings),
        templates=Templates(settings.prompts, collection),
        fields=fields if settings.infer_filters == "on" else None,
    )
