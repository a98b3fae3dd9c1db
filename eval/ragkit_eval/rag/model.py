"""What a run on a knowledge base was made with, so that a comparison shows what differs."""

import hashlib
from collections.abc import Mapping
from typing import Any

from ragkit.answer.extract import ExtractiveGenerator
from ragkit.answer.templates import Templates
from ragkit.contracts import Store
from ragkit.knowledge import KnowledgeBase
from ragkit.types import Mode


def model_of(
    kb: KnowledgeBase,
    *,
    generator: str = "",
    mode: Mode | None = None,
    passages: int | None = None,
    templates: Templates | None = None,
    cutoff: float | None = None,
    **more: Any,
) -> Mapping[str, Any]:
    """Describe a knowledge base: embedding space, mode, generator, prompts, corpus.

    `generator` names what writes the answers, the extractive one unless told, "search" when
    nothing does. `passages` is how many each question gets. `templates` are a language model's
    prompts. `cutoff` is the fitted threshold below which is refused. `more` is whatever else the
    answers depend on, as JSON values.
    """
    kb.embedder.load()
    space = kb.embedder.space
    mode = mode or kb.mode
    generator = generator or _generator(kb)
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
        **more,
    }
    if templates is not None:
        described["prompts"] = {
            language: templates.version("system", "user", language=language)
            for language in ("en", "zh")
        }
    return described


def fitted_cutoff(kb: KnowledgeBase, tenant: str) -> float | None:
    """Return the score below which this knowledge base refuses, None where none was fitted."""
    from ragkit.store.calibration import Calibrations, CurrentCutoff

    if kb.database is None:
        return None
    fitted = Calibrations(kb.database.pool, tenant)
    cutoff = CurrentCutoff(fitted, kb.collection, kb.embedder)(kb.mode)
    return None if cutoff is None else cutoff.threshold


def corpus(store: Store, collection: str) -> Mapping[str, Any]:
    """Return what a collection holds, wherever it came from: equal hashes mean equal documents.

    "pipeline" hashes how they were parsed, chunked and embedded.
    """
    known = store.known(collection)
    passages = sum(one.chunks for one in store.collections() if one.name == collection)
    return {
        "documents": len(known),
        "chunks": passages,
        "corpus": _hash(content for content, _ in known.values()),
        "pipeline": _hash({fingerprint for _, fingerprint in known.values()}),
    }


def _generator(kb: KnowledgeBase) -> str:
    extractive = isinstance(kb.generator, ExtractiveGenerator)
    return "extractive" if extractive else type(kb.generator).__name__


def _hash(values: Any) -> str:
    return hashlib.sha256("\n".join(sorted(values)).encode()).hexdigest()[:16]
