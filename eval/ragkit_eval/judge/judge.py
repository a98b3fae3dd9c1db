"""What a judge is: anything that scores an answer and says why, and may fail to.

It knows nothing of who judges, nor of how far that can be relied on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from ragkit_eval.judge.bound import ParseFailure

# Against reference answers, or against the passages that the answer was made from.
Dimension = Literal["correctness", "faithfulness"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """How good an answer is, 0 to 1, and why."""

    score: float
    reason: str = ""


class Judge(Protocol):
    """Scores answers; many calls run at once."""

    @property
    def signature(self) -> str:
        """Return everything that its verdicts depend on, as `judge|key:value|...`."""
        ...

    @property
    def dimension(self) -> Dimension:
        """Say what is judged: "correctness" needs references, "faithfulness" passages."""
        ...

    def judge(
        self, question: str, answer: str, passages: Sequence[str], references: Sequence[str]
    ) -> Verdict | ParseFailure:
        """Judge one answer. Raises ModelError when nobody can be asked."""
        ...
