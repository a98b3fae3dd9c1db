"""Before anything is generated: may these passages be answered from, or is it refused at once?

It composes signals, cut-offs and the words of a refusal; where a cut-off is kept it does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ragkit.answer import refusal
from ragkit.answer.cutoff import ASKED_FROM, Cutoff, signals
from ragkit.answer.meaning import Meaning
from ragkit.answer.question import read
from ragkit.errors import QueryError
from ragkit.types import Hit, Mode

Weigh = Callable[[Collection[str]], Mapping[str, float]]
Cutoffs = Callable[[Mode], Cutoff | None]


@dataclass(frozen=True, slots=True)
class Decision:
    """Why a question is refused, "" when it is not; and whether a fitted cut-off decided."""

    reason: str
    calibrated: bool = False


class Gate:
    """Judge passages by the cut-off that was fitted for a mode of search, or by the default.

    `weigh` gives the idf of terms in the collection; `cutoffs` the cut-off of a mode, or None.
    `meaning` is the model that embedded the passages.
    """

    def __init__(
        self, weigh: Weigh, cutoffs: Cutoffs | None = None, *, meaning: Meaning | None = None
    ) -> None:
        self._weigh = weigh
        self._meaning = meaning
        self._cutoffs = cutoffs or (lambda mode: None)
        self._threshold: float | None = None

    def at(self, threshold: float) -> Gate:
        """Return the gate with another threshold, 0 to 1; at 0 it refuses nothing that was found.

        Another one than 0 needs a cut-off that was fitted: `judge` raises QueryError without.
        """
        if not 0 <= threshold <= 1:
            raise QueryError(f"the refusal threshold is {threshold:g}: write 0 to 1")
        other = Gate(self._weigh, self._cutoffs, meaning=self._meaning)
        other._threshold = threshold
        return other

    def weighing(self, weigh: Weigh) -> Gate:
        """Return the gate with other weights of terms."""
        other = Gate(weigh, self._cutoffs, meaning=self._meaning)
        other._threshold = self._threshold
        return other

    def judge(self, question: str, hits: Sequence[Hit], mode: Mode) -> Decision:
        """Decide on a question and the passages found for it."""
        cutoff = self._cutoff(mode)
        calibrated = cutoff is not None
        if not hits:
            least = self.least(mode)
            if least is None:
                return Decision(refusal.nothing_found(question))
            return Decision(refusal.all_below(question, least), calibrated=True)
        if self._threshold == 0:
            return Decision("", calibrated)
        asked = read(question)
        weights = self._weigh(asked.content)
        model = self._meaning.model() if self._meaning else ""
        found = signals(asked, hits, weights, model=model)
        scored = ""
        if cutoff is not None:
            refused = cutoff.refuses(found)
            scored = refusal.below(question, cutoff.score(found), cutoff.threshold)
        else:
            refused = found.share is not None and found.probability < ASKED_FROM
        if not refused:
            return Decision("", calibrated)
        return Decision(refusal.too_little(asked, hits, weights) + scored, calibrated)

    def least(self, mode: Mode) -> float | None:
        """Return the reranker's score below which a passage is dropped, None where none is.

        Raises QueryError for a threshold without a cut-off that was fitted.
        """
        if self._threshold == 0:
            return None
        cutoff = self._cutoff(mode)
        return None if cutoff is None else cutoff.least

    def _cutoff(self, mode: Mode) -> Cutoff | None:
        cutoff = self._cutoffs(mode)
        if not self._threshold:
            return cutoff
        if cutoff is None:
            raise QueryError(
                "a refusal threshold needs a cut-off to compare with: fit one with `ragkit"
                " calibrate`, or use 0"
            )
        return replace(cutoff, threshold=self._threshold)
