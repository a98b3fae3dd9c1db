"""A language model as a judge: three grades, bound to a schema, the reason first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ragkit.contracts import LanguageModel
from ragkit.errors import UsageError
from ragkit.prompts.messages import prompt_language
from ragkit.types import Decoding
from ragkit_eval.judge import prompts
from ragkit_eval.judge.judge import Dimension, Verdict
from ragkit_eval.judge.schema_reply import ParseFailure, bound_reply

VERSION: Final = "1"  # of turning a reply into a score
# Greedy whatever the settings are, so that verdicts repeat; room for a thinking model.
DECODING: Final = Decoding(temperature=0.0, max_tokens=1024, seed=0)


@dataclass(frozen=True, slots=True)
class LanguageModelJudge:
    """Fulfils `ragkit_eval.judge.Judge`; asks in the question's language."""

    model: LanguageModel
    dimension: Dimension = "correctness"

    @property
    def signature(self) -> str:
        """Name dimension, model, prompts and decoding; a change of the weights is not noticed."""
        name = self.model.name.replace("|", "/")
        decoding = f"temperature={DECODING.temperature:g},max_tokens={DECODING.max_tokens}"
        prompt_version = prompts.version(self.dimension)
        return (
            f"judge|dimension:{self.dimension}|model:{name}|prompt:{prompt_version}|decoding:{decoding}"
            f"|v:{VERSION}"
        )

    def judge(
        self, question: str, answer: str, passages: Sequence[str], references: Sequence[str]
    ) -> Verdict | ParseFailure:
        """Judge an answer; the grades 0, 1 and 2 are the scores 0, 1/2 and 1.

        Raises ModelError, and UsageError without references (or passages) to judge by.
        """
        if self.dimension == "correctness" and not references:
            raise UsageError("correctness cannot be judged without references: give some")
        if self.dimension == "faithfulness" and not passages:
            raise UsageError("faithfulness cannot be judged without passages: give some")
        messages = prompts.messages(
            self.dimension,
            prompt_language(question),
            question=question,
            answer=answer,
            passages=passages,
            references=references,
        )
        reply = bound_reply(self.model, messages, prompts.SCHEMA, decoding=DECODING)
        if isinstance(reply, ParseFailure):
            return reply
        return Verdict(reply["score"] / max(prompts.GRADES), reply["reason"].strip())
