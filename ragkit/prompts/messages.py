"""Write chat messages of a question and passages: rules, earlier turns, numbered sources, question.

Documents are untrusted: their text is data, and nothing in it can close its source or open another.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from ragkit.errors import SettingsError
from ragkit.prompts.packing import (
    Count,
    Order,
    choose_fitting,
    cut_to_fit,
    drop_repeated,
    in_stable_order,
)
from ragkit.prompts.templates import PromptLanguage, Templates
from ragkit.text.language import language
from ragkit.text.length import estimate_tokens, most_tokens
from ragkit.text.markers import without_markers
from ragkit.types import Hit, Message, Turn

REFUSAL: Final[dict[PromptLanguage, str]] = {
    "en": "The sources do not answer this question.",
    "zh": "所给资料无法回答这个问题。",
}

# A chat template's own tokens around messages: roles and marks, and the system lines of some.
_AROUND_TOKENS: Final = 64
_AROUND_EACH_TOKENS: Final = 8
_JOINING_TOKENS: Final = 16  # arbitrary: how many more a source may have between its neighbours
PACKING: Final = "1"  # goes into a prompt's version: change it when the packing changes

# Marks that could be read as structure: our own tags, and the control tokens of common chat
# templates, which a server may encode as control tokens wherever they stand.
_INVISIBLE = (
    "\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e007f"
)
_TAGS = ("source", "question", "system", "think", "start_of_turn", "end_of_turn")
_TAG = "|".join(f"[{_INVISIBLE}]*".join(tag) for tag in _TAGS)
_CONTROL = (  # other control tokens in angle brackets, each matched with its closing bracket
    r"/?(?:s|bos|eos|sop|eop|pad|unk|mask|tool_call|tool_response|end_of_utterance"
    r"|(?:reserved_|unused|extra_id_)\d+|\w+[|｜])>"
)
_BRACKETED = (
    r"(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|gMASK|(?-i:THINK))"
)
_MARK = re.compile(
    rf"[<＜﹤〈](?=[\s{_INVISIBLE}/／]*(?:{_TAG}))|<(?=[|｜]|</?SYS|{_CONTROL})"
    rf"|\[(?=/?{_BRACKETED}\])",
    re.IGNORECASE,
)
_ATTRIBUTE = str.maketrans({'"': "'", "<": "‹", ">": "›"})


@dataclass(frozen=True, slots=True)
class Prompt:
    """Chat messages, and the passages in them: source n is `used[n - 1]`.

    `version` names the templates and the packing that made it.
    """

    messages: tuple[Message, ...]
    used: tuple[Hit, ...]
    language: PromptLanguage
    version: str


def build_prompt(
    question: str,
    passages: Sequence[Hit],
    *,
    budget_tokens: int,
    history: Sequence[Turn] = (),
    count: Count | None = None,
    context_tokens: int | None = None,
    max_answer_tokens: int = 1024,
    templates: Templates | None = None,
    order: Order = in_stable_order,
) -> Prompt:
    """Write the messages that ask a question of passages, which stand best first.

    Passages are packed into `budget_tokens` as `count` counts them (`estimate_tokens` by default),
    and the prompt leaves `max_answer_tokens` of `context_tokens` free. A passage that does not fit
    is skipped; where not even the best fits, its beginning is used. Earlier turns stay as they
    were, with their sources, so that the prompt begins as the last one did, and their passages are
    not repeated. When these take twice the budget, or more than there is room for, they lose their
    sources; then the oldest turns are dropped. `order` places the chosen passages. Raises
    SettingsError when there is no room for a single sentence.
    """
    writing = _Writing(
        question,
        prompt_language(question),
        templates or Templates(),
        count or _estimates,
        (10**9 if context_tokens is None else context_tokens) - max_answer_tokens,
    )
    turns = writing.turns_with_room(history, budget_tokens)
    previous = [hit for turn in turns for hit in turn.used]
    budget = budget_tokens
    if not writing.has_room([], turns, budget_tokens):
        budget = min(budget_tokens, writing.room([], turns))
    added = list(order(writing.packed(passages, previous, budget)))
    # A text may have more tokens than its parts.
    while len(added) > 1 and not writing.has_room(added, turns):
        added.remove(_worst(added, passages))
    if added and not writing.has_room(added, turns):
        best = cut_to_fit(added[0], lambda hit: writing.room([hit], turns) >= 0)
        added = [best] if best else []
    if passages and not added and not previous:
        raise SettingsError(
            f"no passage fits into the context budget of {max(budget, 0)} tokens: raise"
            " RAGKIT_LLM_BUDGET_TOKENS or RAGKIT_LLM_CONTEXT_TOKENS, or lower RAGKIT_LLM_MAX_TOKENS"
        )
    return Prompt(
        writing.messages(added, turns), (*previous, *added), writing.language, writing.version()
    )


def prompt_language(question: str) -> PromptLanguage:
    """Return the language of a question's prompt: Chinese or, else, English."""
    return "zh" if language(question) == "zh" else "en"


def default_budget(context_tokens: int | None, max_answer_tokens: int, *, gpu: bool) -> int:
    """Return the default number of a prompt's tokens for passages.

    Half of what the answer leaves of the context, up to 3000; 1200 without a GPU, where a prompt
    is read at some hundred tokens a second. The limits are arbitrary.

    >>> default_budget(4096, 1024, gpu=True), default_budget(None, 1024, gpu=False)
    (1536, 1200)
    """
    limit = 3000 if gpu else 1200
    return (
        limit if context_tokens is None else min(limit, (context_tokens - max_answer_tokens) // 2)
    )


class _Writing:
    """A prompt in progress: its messages with some passages and turns, and their cost."""

    def __init__(
        self,
        question: str,
        language: PromptLanguage,
        templates: Templates,
        count: Count,
        limit_tokens: int,
    ) -> None:
        self.language = language
        self._question = question
        self._templates = templates
        self._count = count
        self._limit_tokens = limit_tokens
        self._highest = 0  # number of a source
        # The messages written last, and of what.
        self._written: tuple[tuple[list[Hit], list[Turn]], tuple[Message, ...]] | None = None

    def messages(self, added: Sequence[Hit], turns: Sequence[Turn]) -> tuple[Message, ...]:
        wanted = ([*added], [*turns])
        if self._written is None or self._written[0] != wanted:
            self._written = (wanted, self._messages(added, turns))
        return self._written[1]

    @cached_property
    def _rules(self) -> Message:
        rules = self._templates.render("system", self.language, refusal=REFUSAL[self.language])
        return Message("system", rules)

    def _messages(self, added: Sequence[Hit], turns: Sequence[Turn]) -> tuple[Message, ...]:
        written = [self._rules]
        number = 0
        for turn in turns:
            question = self._question_message(turn.question, turn.used, number)
            answer = neutralise(turn.answer)  # which may repeat what a source said
            written += [Message("user", question), Message("assistant", answer)]
            number += len(turn.used)
        written.append(Message("user", self._question_message(self._question, added, number)))
        return tuple(written)

    def room(self, added: Sequence[Hit], turns: Sequence[Turn]) -> int:
        """Return the tokens left of the context, negative when there are too many."""
        return self._left_by(self.messages(added, turns))

    def has_room(self, added: Sequence[Hit], turns: Sequence[Turn], tokens: int = 0) -> bool:
        """Tell whether so many tokens are left of the context.

        The last message, which is new with every question, is counted only where the tokens of its
        sources and a token for each other byte are too many: a server that counts need not be
        asked for every question.
        """
        *earlier, last = self.messages(added, turns)
        limit = self._left_by(earlier, 1) - self._most(last.content, added, turns)
        return limit >= tokens or self.room(added, turns) >= tokens

    def _left_by(self, messages: Sequence[Message], more: int = 0) -> int:
        """Return the tokens that messages leave of the context, with so many more to come."""
        around = _AROUND_TOKENS + _AROUND_EACH_TOKENS * (len(messages) + more)
        return self._limit_tokens - around - sum(self._count([m.content for m in messages]))

    def _most(self, content: str, added: Sequence[Hit], turns: Sequence[Turn]) -> int:
        """Return a number of tokens that the last message does not exceed."""
        most, number = 0, sum(len(turn.used) for turn in turns)
        costs = self._count([self._numbered(hit) for hit in added]) if added else []
        for n, (hit, cost) in enumerate(zip(added, costs, strict=True), number + 1):
            before, block, after = content.partition(source_block(n, hit))
            if block:  # as it is, unless a user's template changes it
                content = before + after
                most += cost + _JOINING_TOKENS
        return most + most_tokens(content)

    def _numbered(self, hit: Hit) -> str:
        """Write a source as it is counted, with the highest possible number.

        It gets its own number only when it is placed.
        """
        return source_block(self._highest, hit) + "\n\n"

    def turns_with_room(self, history: Sequence[Turn], budget_tokens: int) -> list[Turn]:
        turns = list(history)
        blocks = [source_block(0, hit) for turn in turns for hit in turn.used]
        dear = bool(blocks) and sum(self._count(blocks)) > 2 * budget_tokens
        if dear or (blocks and not self.has_room([], turns, budget_tokens)):
            turns = [Turn(turn.question, without_markers(turn.answer)) for turn in turns]
        while turns and not self.has_room([], turns, budget_tokens):
            turns.pop(0)
        return turns

    def packed(self, passages: Sequence[Hit], previous: Sequence[Hit], budget: int) -> list[Hit]:
        """Choose the passages that fit and are not shown yet, best first."""
        candidates = drop_repeated(passages, previous)
        self._highest = last = len(previous) + len(candidates)
        costs = self._count([self._numbered(hit) for hit in candidates]) if candidates else []
        chosen = [candidates[index] for index in choose_fitting(candidates, costs, budget)]
        if candidates and not chosen:
            best = cut_to_fit(candidates[0], lambda hit: self._fits(last, hit, budget))
            chosen = [best] if best else []
        return chosen

    def version(self) -> str:
        return f"{self._templates.version('system', 'user', language=self.language)}-{PACKING}"

    def _question_message(self, question: str, hits: Sequence[Hit], number: int) -> str:
        sources = [source_block(n, hit) for n, hit in enumerate(hits, number + 1)]
        neutral = neutralise(question)
        return self._templates.render("user", self.language, sources=sources, question=neutral)

    def _fits(self, number: int, hit: Hit, budget: int) -> bool:
        return self._count([source_block(number, hit)])[0] <= budget


def _worst(used: Sequence[Hit], passages: Sequence[Hit]) -> Hit:
    ranks = {hit.chunk: rank for rank, hit in enumerate(passages)}
    return max(used, key=lambda hit: ranks.get(hit.chunk, 0))


def _estimates(texts: Sequence[str]) -> list[int]:
    return [estimate_tokens(text) for text in texts]


def neutralise(text: str) -> str:
    """Replace the opening bracket of text that imitates our tags or a chat template's tokens.

    >>> neutralise("a </source> b < c <|im_end|>")
    'a ‹/source> b < c ‹|im_end|>'
    """
    return _MARK.sub(lambda match: "⟦" if match.group() == "[" else "‹", text)


def source_block(number: int, hit: Hit) -> str:
    """Write a passage as a numbered source that nothing in it can close."""
    attributes = [("title", hit.title or hit.uri)]
    if hit.page is not None:
        attributes.append(("page", str(hit.page)))
    if hit.headings:
        attributes.append(("section", " > ".join(hit.headings)))
    heading = "".join(f' {name}="{_attribute(value)}"' for name, value in attributes)
    text = f"{hit.lead}\n{hit.text}" if hit.lead else hit.text
    return f'<source id="{number}"{heading}>\n{neutralise(text)}\n</source>'


def _attribute(value: str) -> str:
    plain = neutralise(value).translate(_ATTRIBUTE)
    return " ".join(plain.split())[:200]  # arbitrary; a name, not a place for prose
