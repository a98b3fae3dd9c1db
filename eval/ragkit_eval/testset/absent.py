"""Check by words that something stands nowhere in a collection.

The check cannot see it in other words or in another language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragkit.answer.check.quotations import fold
from ragkit.text.analyse import analyse
from ragkit_eval.testset.rivals import MAX_PASSAGES, Words

if TYPE_CHECKING:
    from ragkit.contracts import Store
    from ragkit.types import Hit


@dataclass(frozen=True, slots=True)
class Collected:
    """A collection whose passages are searched by words."""

    store: Store
    name: str

    def passages_with(self, terms: frozenset[str]) -> list[Hit]:
        """Return the passages that hold all of some terms, at most `MAX_PASSAGES`."""
        return Words(self.store, self.name, terms).in_passages(terms, 1.0)

    def lacks(self, literal: str) -> bool:
        """Tell whether no passage has this text, ignoring case, spaces and hyphens."""
        terms = frozenset(analyse(literal))
        if not terms:
            return False
        hits = self.passages_with(terms)
        bare = _fold_text(literal)
        # With more passages than that, an unread one may have the text.
        return len(hits) < MAX_PASSAGES and all(bare not in _fold_text(hit.text) for hit in hits)

    def lacks_words(self, wordings: Iterable[str]) -> bool:
        """Tell whether no passage holds all words of any of these wordings."""
        return all(
            not self.passages_with(terms)
            for wording in wordings
            if (terms := frozenset(analyse(wording)))
        )


def _fold_text(text: str) -> str:
    return re.sub(r"[\s-]", "", fold(text).text)
