"""The contract of judges: they score an answer and give the reason, or fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from ragkit.errors import UsageError
from ragkit_eval.judge.schema_reply import ParseFailure

# By reference answers, by the passages from which the answer was written, or by neither.
Dimension = Literal["correctness", "faithfulness", "quality"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The score of an answer, 0 to 1, and its reason. Raises UsageError for any other score."""

    score: float
    reason: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.score <= 1:
            raise UsageError(
                f"a judge's score is {self.score}: return 0 to 1, or a ParseFailure without a score"
            )


class Judge(Protocol):
    """Scores answers; many calls run at once."""

    @property
    def signature(self) -> str:
        """Return the settings that its verdicts depend on, as `judge|key:value|...`."""
        ...

    @property
    def dimension(self) -> Dimension:
        """Return the dimension: "correctness" needs references, "faithfulness" passages.

        "quality" needs neither, and heeds references where there are some.
        """
        ...

    def judge(
        self, question: str, answer: str, passages: Sequence[str], references: Sequence[str]
    ) -> Verdict | ParseFailure:
        """Judge an answer. Raises ModelError if the model cannot be asked."""
        ...
