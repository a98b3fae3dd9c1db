"""What kinds of files are called on the page: PDF, Word, picture; by media type or suffix."""

from __future__ import annotations

from collections.abc import Mapping

from ragkit.documents.formats import KINDS


def type_of(kind: str) -> str:
    """Return the word's key for a media type or a suffix.

    >>> type_of("application/pdf"), type_of(".docx"), type_of("")
    ('type_pdf', 'type_word', 'type_other')
    """
    return f"type_{KINDS.get(kind, 'other')}"


def ranks(words: Mapping[str, str]) -> dict[str, int]:
    """Rank all media types and suffixes by what they are called; equal names share a rank."""
    called = {kind: words[type_of(kind)] for kind in KINDS}
    order = sorted(set(called.values()))
    return {kind: order.index(name) for kind, name in called.items()}
