"""Turn a draft into an answer: check its citations, and add their pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ragkit.answer.check.verify import Verified, verify
from ragkit.text.places import page_at
from ragkit.types import Answer, Citation

if TYPE_CHECKING:
    from ragkit.answer.check.verify import Entails
    from ragkit.contracts import Embedder, Store
    from ragkit.system.clock import Clock
    from ragkit.types import Draft, Hit, Page


def check_draft(
    draft: Draft,
    hits: Sequence[Hit],
    *,
    store: Store,
    clock: Clock,
    entails: Entails | None = None,
    embedder: Embedder | None = None,
    is_data: bool = False,
) -> Answer:
    """Check a draft about these passages, and make it an answer.

    Data that a schema binds has no citations to check. `clock` is stopped at "verify".
    """
    verified, citations = Verified(), tuple[Citation, ...]()
    if not is_data:
        # Earlier turns of a conversation may show passages that this search does not find.
        passages = [*hits, *(hit for hit in draft.used if hit not in hits)]
        cited = {citation.document for citation in draft.citations}
        sources = store.sources(cited) if cited else {}
        texts = {document: text for document, (text, _) in sources.items()}
        verified = verify(draft, texts.__getitem__, passages, entails=entails, embedder=embedder)
        citations = _with_pages(sources, verified.citations)
    clock.stop("verify")
    return Answer(
        text=draft.text,
        refused=draft.refused,
        reason=draft.reason,
        citations=citations,
        unverified=verified.unverified,
        hits=tuple(hits),
        timings=clock.seconds,
        usage=draft.usage,
        claims=verified.claims,
        used=draft.used,
        reasoning=draft.reasoning,
        prompt=draft.prompt,
        prompting=draft.prompting,
    )


def _with_pages(
    sources: Mapping[int, tuple[str, Sequence[Page]]], citations: Sequence[Citation]
) -> tuple[Citation, ...]:
    """Add the page on which each quotation begins, as a passage may span several."""
    pages = {document: pages for document, (_, pages) in sources.items()}
    return tuple(
        replace(c, page=page_at(pages[c.document], c.start)) if c.document in pages else c
        for c in citations
    )
