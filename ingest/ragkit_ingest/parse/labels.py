"""Give a parsed text's pages their labels and its notes, once it is built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ragkit.types import ParsedText

_MAX_LABEL_CHARS = 80  # arbitrary; a label stands in a citation


def labelled(parsed: ParsedText, labels: Mapping[int, str], notes: Mapping[str, int]) -> ParsedText:
    """Label pages by their number, and keep the notes that count anything."""
    pages = (
        replace(page, label=" ".join(labels.get(page.number, "").split())[:_MAX_LABEL_CHARS])
        for page in parsed.pages
    )
    counted = {kind: count for kind, count in notes.items() if count}
    return replace(parsed, pages=tuple(pages), notes={**parsed.notes, **counted})
