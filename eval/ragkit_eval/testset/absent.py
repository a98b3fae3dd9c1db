"""Whether something stands nowhere in a collection, as far as words can show.

That it is there in other words, or in another language, cannot be seen so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragkit.answer.quotations import fold
from ragkit.text.analyse import analyse
from ragkit_eval.testset.rivals import MOST_LOOKED_AT, Words

if TYPE_CHECKING:
    from ragkit.contracts import Store
    from ragkit.types import Hit


@dataclass(frozen=True, slots=True)
class Collected:
    """A collection whose passages, all of them, are looked through."""

    store: Store
    name: str

    def passages_with(self, terms: frozenset[str]) -> list[Hit]:
        """Return the passages that hold all of some terms, at most `MOST_LOOKED_AT`."""
        return Words(self.store, self.name, terms).in_passages(terms, 1.0)

    def lacks(self, literal: str) -> bool:
        """Tell whether no passage has this text, whatever its case, spaces and hyphens."""
        terms = frozenset(analyse(literal))
        if not terms:
            return False
        hits = self.passages_with(terms)
        bare = _bare(literal)
        # More passages than are looked at: one of the others may have it.
        return len(hits) < MOST_LOOKED_AT and all(bare not in _bare(hit.text) for hit in hits)

    def lacks_words(self, wordings: Iterable[str]) -> bool:
        """Tell whether no passage holds all the words of any of these wordings."""
        return all(
            not self.passages_with(terms)
            for wording in wordings
            if (terms := frozenset(analyse(wording)))
        )


def _bare(text: str) -> str:
    return re.sub(r"[\s-]", "", fold(text).text)
