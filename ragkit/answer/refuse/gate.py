"""The gate: decide before generation whether passages may be answered from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from ragkit.answer.meaning import Meaning
from ragkit.answer.refuse import refusal
from ragkit.answer.refuse.cutoff import ASKED_FROM, signals
from ragkit.errors import QueryError
from ragkit.question.reading import read_question
from ragkit.retrieve.words.weights import read_weights
from ragkit.stats.cutoff import Cutoff
from ragkit.types import Hit, Mode

if TYPE_CHECKING:
    from ragkit.contracts import Reader

Weigh = Callable[[Collection[str]], Mapping[str, float]]


class Cutoffs(Protocol):
    """Looks up the cut-off that was fitted for a mode of search; None where none was."""

    def __call__(self, mode: Mode, reader: Reader | None = None) -> Cutoff | None:
        """Look it up in this view of the store, or in the store as it is now."""
        ...


@dataclass(frozen=True, slots=True)
class Decision:
    """The reason for a refusal, "" for none; and whether a fitted cut-off decided."""

    reason: str
    calibrated: bool = False


class Gate:
    """Judge passages by the cut-off that was fitted for a mode of search, or by the default.

    `weigh` gives the idf of terms in the collection, `cutoffs` the cut-off of a mode.
    `meaning` is the model that embedded the passages.
    """

    def __init__(
        self, weigh: Weigh, cutoffs: Cutoffs | None = None, *, meaning: Meaning | None = None
    ) -> None:
        self._weigh = weigh
        self._meaning = meaning
        self.cutoffs = cutoffs or _no_cutoff
        self._threshold: float | None = None

    def at(self, threshold: float) -> Gate:
        """Return the gate with another threshold, 0 to 1; at 0 it refuses only empty results.

        A threshold above 0 needs a fitted cut-off: without one `judge` raises QueryError.
        """
        if not 0 <= threshold <= 1:
            raise QueryError(f"the refusal threshold is {threshold:g}: write 0 to 1")
        gate = Gate(self._weigh, self.cutoffs, meaning=self._meaning)
        gate._threshold = threshold
        return gate

    def weighing(self, weigh: Weigh, cutoffs: Cutoffs | None = None) -> Gate:
        """Return the gate with other weights of terms and, if given, other cut-offs."""
        gate = Gate(weigh, cutoffs or self.cutoffs, meaning=self._meaning)
        gate._threshold = self._threshold
        return gate

    def judge(self, question: str, hits: Sequence[Hit], mode: Mode) -> Decision:
        """Decide on a question and the passages that the search returned."""
        cutoff = self._cutoff(mode)
        calibrated = cutoff is not None
        if not hits:
            least = self.least(mode)
            if least is None:
                return Decision(refusal.nothing_found(question))
            return Decision(refusal.all_below(question, least), calibrated=True)
        if self._threshold == 0:
            return Decision("", calibrated)
        parsed = read_question(question)
        weights = self._weigh(parsed.content)
        model = self._meaning.model() if self._meaning else ""
        evidence = signals(parsed, hits, weights, model=model)
        scored = ""
        if cutoff is not None:
            refused = cutoff.refuses(evidence)
            scored = refusal.below(question, cutoff.score(evidence), cutoff.threshold)
        else:
            refused = evidence.share is not None and evidence.probability < ASKED_FROM
        if not refused:
            return Decision("", calibrated)
        return Decision(refusal.too_little(parsed, hits, weights) + scored, calibrated)

    def support(self, question: str, hits: Sequence[Hit]) -> float:
        """Estimate how likely passages answer a question, 0 to 1, without a fitted cut-off."""
        if not hits:
            return 0.0
        parsed = read_question(question)
        model = self._meaning.model() if self._meaning else ""
        return signals(parsed, hits, self._weigh(parsed.content), model=model).probability

    def least(self, mode: Mode) -> float | None:
        """Return the reranker's score below which a passage is dropped; None for no limit.

        Raises QueryError for a threshold without a fitted cut-off.
        """
        if self._threshold == 0:
            return None
        cutoff = self._cutoff(mode)
        return None if cutoff is None else cutoff.least

    def _cutoff(self, mode: Mode) -> Cutoff | None:
        cutoff = self.cutoffs(mode)
        if not self._threshold:
            return cutoff
        if cutoff is None:
            raise QueryError(
                "a refusal threshold needs a cut-off to compare with: fit one with `ragkit"
                " calibrate`, or use 0"
            )
        return replace(cutoff, threshold=self._threshold)


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


def _no_cutoff(mode: Mode, reader: Reader | None = None) -> None:
    return None
