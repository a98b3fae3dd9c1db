"""What of a conversation goes into a prompt: its latest turns, and a summary of those before.

It counts tokens by whatever it is given, and knows nothing of questions still to be answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ragkit.answer.markers import without_markers
from ragkit.answer.packing import Count
from ragkit.answer.prompt import neutralise, prompt_language
from ragkit.conversation.telling import tell
from ragkit.errors import ModelServerError
from ragkit.store.conversations import StoredConversation, StoredTurn, UsedPassage
from ragkit.text.analyse import analyse
from ragkit.types import Hit, Turn

if TYPE_CHECKING:
    from ragkit.answer.templates import PromptLanguage, Templates
    from ragkit.contracts import LanguageModel

# A summary stands in a prompt as the answer to this.
ASKED: Final[dict[PromptLanguage, str]] = {
    "en": "What have we talked about so far?",
    "zh": "到目前为止我们谈了什么？",
}
THINKING_TOKENS: Final = 512  # arbitrary: what a thinking model may need beside its summary
TIMEOUT_S: Final = 60.0  # arbitrary; nobody waits for an answer meanwhile
WORDS_SHARE: Final = 8  # of the budget: at two tokens a word, half of what a summary may take


@dataclass(frozen=True, slots=True)
class Memory:
    """The turns to show, oldest first, and what became of the others, for the trace."""

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

    `passages` maps chunk ids to those that are still there: a turn that misses one of its own is
    shown without sources. A single turn over the budget is cut.
    """
    rest = [turn for turn in turns if turn.ordinal > stored.summarised]
    *costs, spoken = count([*map(_text, rest), stored.summary])
    left = budget_tokens - (spoken if stored.summary else 0)
    first = _first_kept(costs, left)
    kept = _numbered(rest[first:], passages)
    if rest and not kept:
        first -= 1
        kept = [_cut(rest[-1], count, left)]
    note = f"{len(kept)} of {len(turns)} turns shown"
    if stored.summary:
        asked = ASKED[prompt_language(turns[-1].question)]
        kept.insert(0, Turn(asked, stored.summary))
        note += f", {len(turns) - len(rest)} in a summary"
    if first:
        note += f", {first} left out for want of room"
    return Memory(tuple(kept), note)


def condense(
    model: LanguageModel,
    templates: Templates,
    stored: StoredConversation,
    turns: Sequence[StoredTurn],
    *,
    budget_tokens: int,
) -> tuple[str, int] | None:
    """Sum up the older turns of a conversation that outgrew its budget; None when it did not.

    Returns the new summary and the ordinal of the last turn in it. So many turns go into it that
    the others take half of the budget. Raises ModelError, SettingsError.
    """
    rest = [turn for turn in turns if turn.ordinal > stored.summarised]
    costs = model.count_tokens([*map(_text, rest), stored.summary])
    if sum(costs) <= budget_tokens or len(rest) < 2:
        return None
    keep = min(_first_kept(costs[:-1], budget_tokens // 2), len(rest) - 1)
    # A backlog of what could not be summed up before must not outgrow the model's context.
    begin = min(_first_kept(costs[:keep], 4 * budget_tokens), max(keep - 1, 0))
    old = rest[begin:keep]
    if not old:
        return None
    prompt = templates.render(
        "summary",
        prompt_language(old[-1].question),
        summary=neutralise(stored.summary),
        turns=[{"question": neutralise(t.question), "answer": _plain(t)} for t in old],
        words=budget_tokens // WORDS_SHARE + 1,
    )
    most = budget_tokens // 2
    summary = tell(model, prompt, max_tokens=most + THINKING_TOKENS, timeout_s=TIMEOUT_S)
    if model.count_tokens([summary])[0] > most:
        raise ModelServerError(f"model {model.name!r} wrote a summary of more than {most} tokens")
    if not set(analyse(summary)) & set(analyse(prompt)):
        raise ModelServerError(f"model {model.name!r} wrote a summary of something else")
    return without_markers(summary), old[-1].ordinal


def _first_kept(costs: Sequence[int], budget_tokens: int) -> int:
    """Return the index from which on all costs together fit, the length when not even the last."""
    first, left = len(costs), budget_tokens
    while first and costs[first - 1] <= left:
        first -= 1
        left -= costs[first]
    return first


def _numbered(turns: Sequence[StoredTurn], passages: Mapping[int, Hit]) -> list[Turn]:
    """Give each turn its sources back, where they have the numbers that its answer cites."""
    shown: list[Turn] = []
    number = 1
    for turn in turns:
        used = [_part(passages.get(passage.chunk), passage) for passage in turn.used]
        hits = tuple(hit for hit in used if hit is not None)
        if hits and turn.first_source == 1 < number:
            # The prompt began anew here: what was shown before had lost its sources by then.
            shown = [Turn(before.question, without_markers(before.answer)) for before in shown]
            number = 1
        if turn.first_source == number and len(hits) == len(turn.used):
            shown.append(Turn(turn.question, turn.answer, hits))
            number += len(hits)
        else:
            shown.append(Turn(turn.question, without_markers(turn.answer)))
    return shown


def _part(hit: Hit | None, passage: UsedPassage) -> Hit | None:
    """Cut a chunk to the part that was shown."""
    if hit is None or not hit.start <= passage.start < passage.end <= hit.end:
        return None
    text = hit.text[passage.start - hit.start : passage.end - hit.start]
    return replace(hit, start=passage.start, end=passage.end, text=text)


def _cut(turn: StoredTurn, count: Count, budget_tokens: int) -> Turn:
    """Keep the beginning of an answer that is too long."""
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
