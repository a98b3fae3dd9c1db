"""A language model as a judge: three named grades, bound to a schema, the reason first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ragkit.answer.prompt import prompt_language
from ragkit.contracts import LanguageModel
from ragkit.errors import UsageError
from ragkit.types import Decoding
from ragkit_eval.judge import prompts
from ragkit_eval.judge.bound import ParseFailure, bound_reply
from ragkit_eval.judge.judge import Dimension, Verdict

VERSION: Final = "1"  # of how a reply becomes a score
# Greedy, whatever the settings say: a judge should say the same twice. Room for a thinking model.
DECODING: Final = Decoding(temperature=0.0, max_tokens=1024, seed=0)


@dataclass(frozen=True, slots=True)
class LanguageModelJudge:
    """Fulfils `ragkit_eval.judge.Judge`; asks in the question's language."""

    model: LanguageModel
    dimension: Dimension = "correctness"

    @property
    def signature(self) -> str:
        """Name dimension, model, prompts and decoding; a server's change of weights is not seen."""
        name = self.model.name.replace("|", "/")
        decoding = f"temperature={DECODING.temperature:g},max_tokens={DECODING.max_tokens}"
        asked = prompts.version(self.dimension)
        return (
            f"judge|dimension:{self.dimension}|model:{name}|prompt:{asked}|decoding:{decoding}"
            f"|v:{VERSION}"
        )

    def judge(
        self, question: str, answer: str, passages: Sequence[str], references: Sequence[str]
    ) -> Verdict | ParseFailure:
        """Judge one answer; the grades 0, 1 and 2 are the scores 0, 1/2 and 1.

        Raises ModelError, and UsageError without references, or passages, to judge by.
        """
        by = references if self.dimension == "correctness" else passages
        if not by:
            needed = "references" if self.dimension == "correctness" else "passages"
            raise UsageError(f"{self.dimension} cannot be judged without {needed}: give some")
        asked = prompts.messages(
            self.dimension,
            prompt_language(question),
            question=question,
            answer=answer,
            passages=passages,
            references=references,
        )
        reply = bound_reply(self.model, asked, prompts.SCHEMA, decoding=DECODING)
        if isinstance(reply, ParseFailure):
            return reply
        return Verdict(reply["score"] / max(prompts.GRADES), reply["reason"].strip())
