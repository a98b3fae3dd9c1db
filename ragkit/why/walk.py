"""Follow a document from its file to a citation, up to the stage that loses it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ragkit.documents.lookup import named
from ragkit.why.answer import answer_steps
from ragkit.why.explained_search import ExplainedSearch
from ragkit.why.ingestion import chunk_step, ingestion_step, parse_step, version_step
from ragkit.why.legs import leg_steps
from ragkit.why.refinements import refinement_steps
from ragkit.why.steps import Step, Why

if TYPE_CHECKING:
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.types import Document, Mode


def walk(
    kb: KnowledgeBase,
    question: str,
    name: str,
    *,
    k: int,
    mode: Mode,
    answer: bool,
) -> Why:
    """Follow a document through the answering of a question, up to the stage that loses it.

    `name` is its number, or its name: see `ragkit.documents.names`.
    Without `answer` the walk ends before generation. Raises UsageError for a name of
    several documents, NotFoundError for an unknown collection, and what a search raises.
    """
    document = named(kb.store, kb.collection, name)
    steps: list[Step] = []
    for step in _steps(kb, question, name, document, k, mode, answer):
        steps.append(step)
        if step.kept is False:
            break
    return Why(question, name, document, tuple(steps))


def _steps(
    kb: KnowledgeBase,
    question: str,
    name: str,
    document: Document | None,
    k: int,
    mode: Mode,
    answer: bool,
) -> Iterator[Step]:
    """Yield the stages one by one; stages after a loss are not computed."""
    yield ingestion_step(kb, name, document)
    assert document is not None, "one that is not there is lost"
    document, found_version = version_step(kb, document)
    if found_version is not None:
        yield found_version
    yield parse_step(kb, document)
    yield chunk_step(document)
    explained = ExplainedSearch(kb, question, document.id, k=k, mode=mode)
    yield from leg_steps(explained)
    yield from refinement_steps(explained)
    yield from answer_steps(explained, kb.gate, kb.generator if answer else None)
