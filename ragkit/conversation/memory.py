"""The part of a conversation that goes into a prompt: its latest turns and a summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ragkit.errors import ModelServerError
from ragkit.prompts.ask_model import ask_model
from ragkit.prompts.messages import neutralise, prompt_language
from ragkit.prompts.packing import Count
from ragkit.store.people.conversations import StoredConversation, StoredTurn, UsedPassage
from ragkit.text.analyse import analyse
from ragkit.text.markers import without_markers
from ragkit.types import Hit, Turn

if TYPE_CHECKING:
    from ragkit.contracts import LanguageModel
    from ragkit.prompts.templates import PromptLanguage, Templates

# In a prompt, a summary is the answer to this question.
SUMMARY_QUESTION: Final[dict[PromptLanguage, str]] = {
    "en": "What have we talked about so far?",
    "zh": "到目前为止我们谈了什么？",
}
THINKING_TOKENS: Final = 512  # arbitrary: for a thinking model, in addition to its summary
TIMEOUT_S: Final = 60.0  # arbitrary; nobody waits for an answer then
WORDS_SHARE: Final = 8  # of the budget: at two tokens a word, half of what a summary may take


@dataclass(frozen=True, slots=True)
class Memory:
    """The turns of a prompt, oldest first, and a note on the others, for the trace."""

    turns: tuple[Turn, ...]
    note: str


def recall(
    stored: StoredConversation,
    turns: Sequence[StoredTurn],
    passages: Mapping[int, Hit],
    *,
    count: Count,
    budget_tokens: int,
) -> Memory:
    """Choose the latest turns that fit, after the summary of those that it covers.

    `passages` maps chunk ids to those that still exist: a turn whose passages are incomplete loses
    its sources. A single turn over the budget is cut.
    """
    open_turns = [turn for turn in turns if turn.ordinal > stored.summarised]
    *costs, spoken = count([*map(_text, open_turns), stored.summary])
    budget = budget_tokens - (spoken if stored.summary else 0)
    first = _first_fitting(costs, budget)
    turns_shown = _numbered(open_turns[first:], passages)
    if open_turns and not turns_shown:
        first -= 1
        turns_shown = [_cut(open_turns[-1], count, budget)]
    note = f"{len(turns_shown)} of {len(turns)} turns shown"
    if stored.summary:
        question = SUMMARY_QUESTION[prompt_language(turns[-1].question)]
        turns_shown.insert(0, Turn(question, stored.summary))
        note += f", {len(turns) - len(open_turns)} in a summary"
    if first:
        note += f", {first} left out for want of room"
    return Memory(tuple(turns_shown), note)


def condense(
    model: LanguageModel,
    templates: Templates,
    stored: StoredConversation,
    turns: Sequence[StoredTurn],
    *,
    budget_tokens: int,
) -> tuple[str, int] | None:
    """Summarise the older turns of a conversation that outgrew its budget; None if it did not.

    Returns the new summary and the ordinal of the last turn in it. It covers so many turns that
    the others take half of the budget. Raises ModelError, SettingsError.
    """
    open_turns = [turn for turn in turns if turn.ordinal > stored.summarised]
    costs = model.count_tokens([*map(_text, open_turns), stored.summary])
    if sum(costs) <= budget_tokens or len(open_turns) < 2:
        return None
    end = min(_first_fitting(costs[:-1], budget_tokens // 2), len(open_turns) - 1)
    # A backlog of turns without a summary must not outgrow the model's context.
    begin = min(_first_fitting(costs[:end], 4 * budget_tokens), max(end - 1, 0))
    older = open_turns[begin:end]
    if not older:
        return None
    prompt = templates.render(
        "summary",
        prompt_language(older[-1].question),
        summary=neutralise(stored.summary),
        turns=[{"question": neutralise(t.question), "answer": _plain(t)} for t in older],
        words=budget_tokens // WORDS_SHARE + 1,
    )
    limit = budget_tokens // 2
    summary = ask_model(model, prompt, max_tokens=limit + THINKING_TOKENS, timeout_s=TIMEOUT_S)
    if model.count_tokens([summary])[0] > limit:
        raise ModelServerError(f"model {model.name!r} wrote a summary of more than {limit} tokens")
    if not set(analyse(summary)) & set(analyse(prompt)):
        raise ModelServerError(f"model {model.name!r} wrote a summary of something else")
    return without_markers(summary), older[-1].ordinal


def _first_fitting(costs: Sequence[int], budget_tokens: int) -> int:
    """Return the index from which on all costs together fit, the length if none does."""
    first, budget = len(costs), budget_tokens
    while first and costs[first - 1] <= budget:
        first -= 1
        budget -= costs[first]
    return first


def _numbered(turns: Sequence[StoredTurn], passages: Mapping[int, Hit]) -> list[Turn]:
    """Give each turn its sources, where they have the numbers that its answer cites."""
    numbered: list[Turn] = []
    number = 1
    for turn in turns:
        used = [_part(passages.get(passage.chunk), passage) for passage in turn.used]
        hits = tuple(hit for hit in used if hit is not None)
        if hits and turn.first_source == 1 < number:
            # The prompt restarted here: earlier turns had lost their sources by then.
            numbered = [
                Turn(earlier.question, without_markers(earlier.answer)) for earlier in numbered
            ]
            number = 1
        if turn.first_source == number and len(hits) == len(turn.used):
            numbered.append(Turn(turn.question, turn.answer, hits))
            number += len(hits)
        else:
            numbered.append(Turn(turn.question, without_markers(turn.answer)))
    return numbered


def _part(hit: Hit | None, passage: UsedPassage) -> Hit | None:
    """Cut a chunk to the part that the turn used."""
    if hit is None or not hit.start <= passage.start < passage.end <= hit.end:
        return None
    text = hit.text[passage.start - hit.start : passage.end - hit.start]
    return replace(hit, start=passage.start, end=passage.end, text=text)


def _cut(turn: StoredTurn, count: Count, budget_tokens: int) -> Turn:
    """Shorten an answer that is too long to its beginning."""
    text = without_markers(turn.answer)
    cost = count([_text(turn)])[0]
    while text and cost > budget_tokens:
        text = text[: len(text) * max(budget_tokens, 0) // (cost + 1)]
        cost = count([f"{turn.question}\n{text}"])[0]
    return Turn(turn.question, f"{text.rstrip()} …")


def _text(turn: StoredTurn) -> str:
    return f"{turn.question}\n{turn.answer}"


def _plain(turn: StoredTurn) -> str:
    return neutralise(" ".join(without_markers(turn.answer).split()))
