"""Answers written by a language model: prompt, model, citations.

It reads citations and refusals from the output, and separates the model's reasoning. Whether the
answer is true is for `ragkit.answer.check.verify`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from ragkit.answer.check.numbers import find_numbers
from ragkit.answer.refuse import refusal
from ragkit.answer.write.citations import cite
from ragkit.answer.write.links import Cleaning
from ragkit.errors import IncompleteAnswerError, ModelServerError, UsageError
from ragkit.prompts.messages import (
    REFUSAL,
    Prompt,
    build_prompt,
    default_budget,
    neutralise,
    prompt_language,
    source_block,
)
from ragkit.prompts.packing import RecentOrders
from ragkit.prompts.templates import PromptLanguage, Templates
from ragkit.text.analyse import comparable
from ragkit.text.markers import find_markers
from ragkit.types import Decoding, Draft, Finish, Hit, Reasoning, Turn

if TYPE_CHECKING:
    from ragkit.contracts import LanguageModel
    from ragkit.prompts.prompting import Prompting

SAMPLE_TEMPERATURE: Final = 0.7  # where none is set; as in arXiv:2203.11171, 3.1
UNKNOWN_CONTEXT_TOKENS: Final = 4096  # arbitrary; few models since 2023 have less
CUT_SHORT: Final = "the answer was cut off after {max_tokens} tokens"
_SOFT = re.compile(r"[\s\"'“”「」*.。!！]+")


class ChatGenerator:
    """Write answers with a language model; `decoding` says how it chooses its tokens.

    An answer that a JSON schema or a regex binds is data: it is neither cited nor read as a
    refusal. Passages take at most `budget_tokens` of a prompt; None: what the model's context
    allows, and less `on_cpu`, where reading a prompt is slow.
    """

    def __init__(
        self,
        model: LanguageModel,
        *,
        decoding: Decoding | None = None,
        budget_tokens: int | None = None,
        templates: Templates | None = None,
        on_cpu: bool = False,
    ) -> None:
        self._model = model
        self._decoding = decoding or Decoding()
        self._budget_tokens = budget_tokens
        self._templates = templates or Templates()
        self._on_cpu = on_cpu
        self._order = RecentOrders()
        self._instructions = ""
        self._prompting: Prompting | None = None

    def adapted(
        self, *, decoding: Decoding | None, instructions: str, prompting: Prompting | None = None
    ) -> ChatGenerator:
        """Return the generator with other decoding, None for its own, and additional instructions.

        `prompting` says how the model is asked; None: plainly. Both generators share the order of
        recent prompts. Raises UsageError for steps or samples of data.
        """
        generator = copy(self)
        generator._decoding = decoding or self._decoding
        generator._instructions = instructions.strip()
        generator._prompting = prompting
        if prompting and (prompting.steps or prompting.samples > 1) and generator.writes_data:
            raise UsageError(
                "steps and samples are for answers in words: leave json_schema and regex out"
            )
        return generator

    @property
    def samples(self) -> int:
        """How many answers to draft and choose from."""
        return self._prompting.samples if self._prompting else 1

    def sample(self, number: int) -> ChatGenerator:
        """Return the generator of one of several answers, which a temperature makes differ.

        A seed that is set gives each its own.
        """
        decoding = self._decoding
        seed = None if decoding.seed is None else decoding.seed + number
        temperature = decoding.temperature or SAMPLE_TEMPERATURE
        generator = copy(self)
        generator._decoding = replace(decoding, temperature=temperature, seed=seed)
        return generator

    @property
    def writes_data(self) -> bool:
        """Whether the output is bound to a schema or a regex, so that nothing may change it."""
        return self._decoding.json_schema is not None or self._decoding.regex is not None

    def generate(
        self, question: str, passages: Sequence[Hit], *, history: Sequence[Turn] = ()
    ) -> Iterator[str | Reasoning | Draft]:
        """Yield the answer as the model writes it, then its Draft; see
        `ragkit.contracts.Generator`.
        """
        prompt = self._prompt(question, passages, history)
        if prompt is None or not prompt.used:  # no passages: the model need not be asked
            text = refusal.statement(question)
            yield text
            yield Draft(text, refused=True, reason=refusal.nothing_found(question))
            return
        written: list[str] = []
        thoughts: list[str] = []
        finish: Finish | None = None
        cleaning = None if self.writes_data else Cleaning(prompt.used)
        stream: Iterator[Any] = self._model.stream(prompt.messages, self._decoding)
        if self._prompting and self._prompting.steps:
            from ragkit.answer.write.steps import split_steps

            stream = split_steps(stream)
        broken: IncompleteAnswerError | None = None
        with closing(cast("Any", stream)) as pieces:  # the contract says that it can be closed
            try:
                for piece in pieces:
                    if isinstance(piece, Finish):
                        finish = piece
                    elif isinstance(piece, Reasoning):
                        thoughts.append(piece.text)
                        yield piece
                    elif text := cleaning.take(piece) if cleaning else piece:
                        written.append(text)
                        yield text
            except IncompleteAnswerError as error:
                broken = error
        if tail := cleaning.end() if cleaning else "":  # held back until the next piece
            written.append(tail)
            yield tail
        if broken is not None:
            raise IncompleteAnswerError(str(broken), "".join(written)) from broken
        yield self._draft("".join(written), "".join(thoughts), finish, prompt)

    def _prompt(
        self, question: str, passages: Sequence[Hit], history: Sequence[Turn]
    ) -> Prompt | None:
        if not passages and not any(turn.used for turn in history):
            return None
        rules = self._rules(prompt_language(question))
        context, answer = self._context(rules), self._decoding.max_tokens
        budget = self._budget_tokens or default_budget(context, answer, gpu=not self._on_cpu)
        prompt = build_prompt(
            question,
            passages,
            budget_tokens=budget,
            history=history,
            count=self._model.count_tokens,
            context_tokens=context,
            max_answer_tokens=answer,
            templates=self._templates,
            order=self._order,
        )
        return _with_rules(prompt, rules, self._instructions)

    def costs(self, passages: Sequence[Hit]) -> tuple[int, Sequence[int]]:
        """Return the tokens that passages may take of a prompt, and the tokens of each."""
        context, answer = self._context(self._rules("en")), self._decoding.max_tokens
        budget = self._budget_tokens or default_budget(context, answer, gpu=not self._on_cpu)
        blocks = [source_block(n, hit) for n, hit in enumerate(passages, 1)]
        return budget, self._model.count_tokens(blocks) if blocks else []

    def _rules(self, language: PromptLanguage) -> str:
        """Write the examples and the steps that follow the prompt's rules."""
        return self._prompting.rules(self._templates, language) if self._prompting else ""

    def _context(self, rules: str) -> int:
        """Count the context's tokens, less those of the instructions and of these rules."""
        context = self._model.context_tokens() or UNKNOWN_CONTEXT_TOKENS
        if extra := [text for text in (rules, self._instructions) if text]:
            context -= sum(self._model.count_tokens(extra))
        return context

    def _draft(self, text: str, reasoning: str, finish: Finish | None, prompt: Prompt) -> Draft:
        if finish is None:
            raise IncompleteAnswerError("the answer is incomplete: it was cancelled", text)
        cut = finish.reason == "length"
        if not text.strip():
            raise ModelServerError(self._empty_answer(cut=cut))
        reason = CUT_SHORT.format(max_tokens=self._decoding.max_tokens) if cut else ""
        refused = "" if self.writes_data else refusal_in(text)
        return Draft(
            text,
            () if self.writes_data or refused else cite(text, prompt.used),
            refused=bool(refused),
            reason=refusal.by_model(refused) if refused else reason,
            usage=finish.usage,
            used=prompt.used,
            reasoning=reasoning,
            prompt=prompt.version,
            prompting=self._prompting.as_json() if self._prompting else {},
        )

    def _empty_answer(self, *, cut: bool) -> str:
        model = f"model {self._model.name!r}"
        if cut:
            return (
                f"{model} used up its {self._decoding.max_tokens} tokens before answering: allow it"
                " more (RAGKIT_LLM_MAX_TOKENS), or turn its thinking off"
            )
        return f"{model} answered nothing: check its chat template"


def _with_rules(prompt: Prompt, rules: str, instructions: str) -> Prompt:
    """Put more rules after the prompt's, and a caller's instructions after both."""
    more = [text for text in (rules, neutralise(instructions)) if text]
    if not more:
        return prompt
    system, *messages = prompt.messages
    extended = replace(system, content="\n\n".join([system.content, *more]))
    version = prompt.version
    if rules:
        from ragkit.prompts.prompting import version_of

        version += version_of(rules)
    return replace(prompt, messages=(extended, *messages), version=version)


def refusal_in(text: str) -> str:
    """Return the refusal sentence that an answer begins with, or "" when it answers after all.

    The sentence may be written in traditional characters.

    An answer that goes on to cite or to give numbers counts as one, and is checked.

    >>> refusal_in('"The sources do not answer this question."')
    'The sources do not answer this question.'
    """
    plain = comparable(_SOFT.sub(" ", text).strip())
    for sentence in REFUSAL.values():
        if plain.startswith(comparable(_SOFT.sub(" ", sentence).strip())):
            return "" if find_markers(text) or find_numbers(text) else sentence
    return ""
