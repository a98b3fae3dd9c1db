"""Let a language model write questions about passages, and reject those that fail a check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from ragkit.contracts import LanguageModel
from ragkit.prompts.templates import PromptLanguage
from ragkit.types import Decoding, Hit, Span
from ragkit_eval.judge.schema_reply import ParseFailure, bound_reply
from ragkit_eval.sets import Question
from ragkit_eval.testset import label, prompts
from ragkit_eval.testset.checks import answer_fault, question_fault, quoted_span

# Arbitrary: a question with its sentence takes about 150 tokens; a reasoning model needs more.
MAX_TOKENS: Final = 1024
CHECKED_PASSAGES: Final = 8  # that an unanswerable question is checked against; arbitrary

Search = Callable[[str], Sequence[Hit]]


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes questions with a model; `search` finds the passages that could answer one."""

    model: LanguageModel
    search: Search
    seed: int

    def answerable(self, passage: Hit, language: PromptLanguage) -> Question | str:
        """Write a question that a passage answers, or return why the reply is unusable."""
        prompt = prompts.to_write(passage, language)
        reply = bound_reply(self.model, prompt, prompts.WRITE_SCHEMA, decoding=self._decoding())
        if isinstance(reply, ParseFailure):
            return "the reply is not the JSON that was asked for"
        question, answer = reply["question"].strip(), reply["answer"].strip()
        quoted = quoted_span(reply["quote"], passage.text)
        if quoted is None:
            return "the quotation is not in the passage"
        quote = passage.text[quoted.start : quoted.end]
        fault = question_fault(question, language) or answer_fault(question, answer, quote)
        if fault:
            return fault
        span = Span(passage.start + quoted.start, passage.start + quoted.end)
        return label.answerable(
            passage.uri,
            question,
            answer=answer,
            span=span,
            quote=quote,
            language=language,
            kind="written",
        )

    def unanswerable(self, passage: Hit, language: PromptLanguage) -> Question | str:
        """Write a question that no passage answers, as far as the model can tell."""
        prompt = prompts.to_write_unanswerable(passage, language)
        schema = prompts.UNANSWERABLE_SCHEMA
        reply = bound_reply(self.model, prompt, schema, decoding=self._decoding())
        if isinstance(reply, ParseFailure):
            return "the reply is not the JSON that was asked for"
        question = reply["question"].strip()
        fault = question_fault(question, language)
        if fault:
            return fault
        near = self.search(question)[:CHECKED_PASSAGES]
        passages = [passage, *(hit for hit in near if hit.chunk != passage.chunk)]
        verdict = bound_reply(
            self.model,
            prompts.to_check(question, passages, language),
            prompts.CHECK_SCHEMA,
            decoding=self._decoding(),
        )
        if isinstance(verdict, ParseFailure):
            return "the reply is not the JSON that was asked for"
        if verdict["answered"]:
            return "the documents answer it after all"
        return label.unanswerable(passage.uri, question, language=language, kind="written")

    def _decoding(self) -> Decoding:
        return Decoding(max_tokens=MAX_TOKENS, seed=self.seed)
