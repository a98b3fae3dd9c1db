"""From a question and a document's name to the stages that it went through, up to the one that lost
it. It composes the other parts of this package.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ragkit.document_names import named
from ragkit.why.answer import answered
from ragkit.why.legs import legs
from ragkit.why.refined import refined
from ragkit.why.seen import Seen
from ragkit.why.steps import Step, Why
from ragkit.why.taken_in import chunked, parsed, taken_in, version

if TYPE_CHECKING:
    from ragkit.knowledge import KnowledgeBase
    from ragkit.types import Document, Mode
    from ragkit.why.answer import Draw, Judge


def walk(
    kb: KnowledgeBase,
    question: str,
    name: str,
    *,
    k: int,
    mode: Mode,
    judge: Judge,
    draft: Draw | None,
) -> Why:
    """Follow a document through the answering of a question, up to the stage that loses it.

    `name` is its number, or what it is called: see `ragkit.naming`.
    Without `draft` the walk ends before anything is generated. Raises UsageError for a name of
    several documents, NotFoundError for an unknown collection, and what a search raises.
    """
    document = named(kb.store, kb.collection, name)
    steps: list[Step] = []
    for step in _steps(kb, question, name, document, k, mode, judge, draft):
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
    judge: Judge,
    draft: Draw | None,
) -> Iterator[Step]:
    """Yield the stages one by one: what comes after the one that lost it is not even tried."""
    yield taken_in(kb, name, document)
    assert document is not None, "one that is not there is lost"
    document, said = version(kb, document)
    if said is not None:
        yield said
    yield parsed(kb, document)
    yield chunked(document)
    seen = Seen(kb, question, document.id, k=k, mode=mode)
    yield from legs(seen)
    yield from refined(seen)
    yield from answered(seen, kb.generator, judge, draft)
