"""What a question's search saw of its collection besides the hits."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from ragkit.question.reading import read_question
from ragkit.retrieve.words.weights import read_weights

if TYPE_CHECKING:
    from ragkit.answer.refuse.gate import Cutoffs
    from ragkit.contracts import Reader
    from ragkit.stats.cutoff import Cutoff
    from ragkit.types import Mode


class SearchMoment:
    """The weights of the words of some questions, and the cut-off of a mode.

    `read` takes them from the search's own view, so that gate and generator need none and judge
    the hits by the collection that they were found in.
    """

    def __init__(
        self, collection: str, questions: Collection[str], mode: Mode, cutoffs: Cutoffs
    ) -> None:
        self._collection = collection
        self._contents = [read_question(question).content for question in questions]
        self._mode: Mode = mode
        self._cutoffs = cutoffs
        self._weights: dict[frozenset[str], Mapping[str, float]] = {}
        self._cutoff: Cutoff | None = None

    def read(self, reader: Reader) -> None:
        """Read both. The last view counts, where a search takes several."""
        for content in self._contents:
            self._weights[frozenset(content)] = read_weights(reader, self._collection, content)
        self._cutoff = self._cutoffs(self._mode, reader)

    def weigh(self, terms: Collection[str]) -> Mapping[str, float]:
        """Return the weights of one question's words."""
        return self._weights[frozenset(terms)]

    def cutoff(self, mode: Mode, reader: Reader | None = None) -> Cutoff | None:
        """Return the cut-off of the mode that was searched by."""
        assert mode == self._mode, "a search has one mode"
        return self._cutoff
