"""Passages that say the same, word for word, shown once.

It compares texts alone: it knows nothing of documents, scores or stores.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import replace

from ragkit.types import Copy, Hit


class Collapse:
    """Keep the best of the hits with the same text, and name the others in its `duplicates`.

    Texts are the same when they differ in nothing but white space, case and width. Fulfils
    `contracts.Refinement`.
    """

    name = "duplicates"

    def refine(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return the hits that differ, in their order; a hit is never a duplicate of itself."""
        best: dict[str, Hit] = {}
        others: dict[str, list[Copy]] = {}
        for hit in hits:
            key = folded(hit.text)
            if key in best:
                others.setdefault(key, []).append(_place(hit))
            else:
                best[key] = hit
        return [
            replace(hit, duplicates=(*hit.duplicates, *others[key])) if key in others else hit
            for key, hit in best.items()
        ]


def _place(hit: Hit) -> Copy:
    return Copy(hit.document, hit.chunk, hit.uri, hit.title, hit.page, hit.start, hit.end)


def folded(text: str) -> str:
    """Write a text as it is compared: NFKC, case folded, white space made single.

    >>> folded("Ｌeave:  28\\nDAYS")
    'leave: 28 days'
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
