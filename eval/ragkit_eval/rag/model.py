"""Describe the knowledge base of a run, so that a comparison shows what differs."""

import hashlib
from collections.abc import Mapping
from typing import Any

from ragkit.answer.write.extract import ExtractiveGenerator
from ragkit.contracts import Store
from ragkit.knowledge.base import KnowledgeBase
from ragkit.prompts.templates import Templates
from ragkit.types import Mode


def model_of(
    kb: KnowledgeBase,
    *,
    generator: str = "",
    mode: Mode | None = None,
    passages: int | None = None,
    templates: Templates | None = None,
    cutoff: float | None = None,
    **details: Any,
) -> Mapping[str, Any]:
    """Describe a knowledge base: embedding space, mode, generator, prompts, documents.

    `generator` names what writes the answers, by default the knowledge base's generator; "search"
    when nothing does. `passages` is the number of passages per question. `templates` are a language
    model's prompts. `cutoff` is the fitted score below which questions are refused. `details` are
    further JSON values that the answers depend on.
    """
    kb.embedder.load()
    space = kb.embedder.space
    mode = mode or kb.mode
    generator = generator or _name_generator(kb)
    described = {
        "name": f"{generator}, {mode}",
        "generator": generator,
        "mode": mode,
        "passages": passages or kb.passages,
        "embedding": space.model,
        "embedding_revision": space.revision,
        "collection": kb.collection,
        "cutoff": cutoff,
        **corpus(kb.store, kb.collection),
        **details,
    }
    if templates is not None:
        described["prompts"] = {
            language: templates.version("system", "user", language=language)
            for language in ("en", "zh")
        }
    return described


def fitted_cutoff(kb: KnowledgeBase) -> float | None:
    """Return the score below which this knowledge base refuses, None if none was fitted."""
    from ragkit.store.people.calibration import CurrentCutoff

    cutoff = CurrentCutoff(kb.store, kb.collection, kb.embedder)(kb.mode)
    return None if cutoff is None else cutoff.threshold


def corpus(store: Store, collection: str) -> Mapping[str, Any]:
    """Describe a collection's content; equal hashes mean equal documents.

    "pipeline" hashes the settings of parsing, chunking and embedding.
    """
    documents = store.known(collection)
    chunks = sum(row.chunks for row in store.collections() if row.name == collection)
    return {
        "documents": len(documents),
        "chunks": chunks,
        "corpus": _hash(content for content, _ in documents.values()),
        "pipeline": _hash({fingerprint for _, fingerprint in documents.values()}),
    }


def _name_generator(kb: KnowledgeBase) -> str:
    extractive = isinstance(kb.generator, ExtractiveGenerator)
    return "extractive" if extractive else type(kb.generator).__name__


def _hash(values: Any) -> str:
    return hashlib.sha256("\n".join(sorted(values)).encode()).hexdigest()[:16]
