"""An answer of a draft: its citations checked against the stored text, and named by their pages.

It knows nothing of how passages are found, or of what wrote the draft.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ragkit.answer.verify import Verified, verify
from ragkit.text.pages import page_at
from ragkit.types import Answer

if TYPE_CHECKING:
    from ragkit.answer.verify import Entails
    from ragkit.clock import Clock
    from ragkit.contracts import Embedder, Store
    from ragkit.types import Citation, Draft, Hit


def checked(
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

    What is data, bound to a schema, has no citations to check. `clock` is stopped at "verify".
    """
    found = Verified()
    if not is_data:
        # A conversation's turns before show passages that this search may not have found.
        passages = [*hits, *(hit for hit in draft.used if hit not in hits)]
        found = verify(draft, store.text, passages, entails=entails, embedder=embedder)
    citations = _paged(store, found.citations)
    clock.stop("verify")
    return Answer(
        text=draft.text,
        refused=draft.refused,
        reason=draft.reason,
        citations=citations,
        unverified=found.unverified,
        hits=tuple(hits),
        timings=clock.seconds,
        usage=draft.usage,
        claims=found.claims,
        used=draft.used,
        reasoning=draft.reasoning,
        prompt=draft.prompt,
    )


def _paged(store: Store, citations: Sequence[Citation]) -> tuple[Citation, ...]:
    """Name the page on which each quotation begins: a passage may reach over several."""
    pages = {number: store.pages(number) for number in {c.document for c in citations}}
    return tuple(replace(c, page=page_at(pages[c.document], c.start)) for c in citations)
