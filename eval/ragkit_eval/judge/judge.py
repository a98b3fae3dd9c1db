"""What a judge is: anything that scores an answer and says why, and may fail to.

It knows nothing of who judges, nor of how far that can be relied on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from ragkit.errors import UsageError
from ragkit_eval.judge.bound import ParseFailure

# Against reference answers, or against the passages that the answer was made from.
Dimension = Literal["correctness", "faithfulness"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """How good an answer is, 0 to 1, and why. Raises UsageError for any other score."""

    score: float
    reason: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.score <= 1:
            raise UsageError(
                f"a judge's score is {self.score}: give 0 to 1, or a ParseFailure where it has none"
            )


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
