"""Collapse hits whose texts are the same, word for word."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import replace

from ragkit.types import Copy, Hit


class Collapse:
    """Keep the best of the hits with the same text, and list the others in its `duplicates`.

    Texts are the same when they differ only in white space, case and width. Fulfils
    `contracts.Refinement`.
    """

    name = "duplicates"

    def refine(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return the hits that differ, in their order; a hit is never a duplicate of itself."""
        best: dict[str, Hit] = {}
        copies: dict[str, list[Copy]] = {}
        for hit in hits:
            key = fold_text(hit.text)
            if key in best:
                copies.setdefault(key, []).append(_copy_of(hit))
            else:
                best[key] = hit
        return [
            replace(hit, duplicates=(*hit.duplicates, *copies[key])) if key in copies else hit
            for key, hit in best.items()
        ]


def _copy_of(hit: Hit) -> Copy:
    return Copy(hit.document, hit.chunk, hit.uri, hit.title, hit.page, hit.start, hit.end)


def fold_text(text: str) -> str:
    """Return a text's form for comparison: NFKC, case folded, white space made single.

    >>> fold_text("Ｌeave:  28\\nDAYS")
    'leave: 28 days'
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
