"""Questions with turns before them: what is searched for, and the answer.

A question is searched for as it stands. What was asked before is added where it cannot stand alone,
or where it may have left something out and is refused as it stands (decision 35). Nothing is kept
here; `ragkit.conversation.dialogue` is for conversations that the database keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from ragkit.conversation.alone import follows_on, may_follow, surely_alone
from ragkit.conversation.expand import expanded
from ragkit.conversation.rewrite import STANDS_ALONE, Standalone, rewrite
from ragkit.conversation.tries import Piece, Tries, answer_of

if TYPE_CHECKING:
    from ragkit.answer.templates import Templates
    from ragkit.contracts import LanguageModel
    from ragkit.knowledge import KnowledgeBase
    from ragkit.types import Hit, Turn


def stream(
    kb: KnowledgeBase,
    question: str,
    turns: Sequence[Turn],
    *,
    model: LanguageModel | None,
    templates: Templates,
    history_tokens: int,
    on_query: Callable[[str], None] = lambda query: None,
) -> Iterator[Piece]:
    """Answer a question in the light of turns before it, oldest first, of `history_tokens` at most.

    `model` rewrites follow-ups; without one see `answered`. `on_query` is shown what is searched
    for, before the answer's first piece. Yields and raises what `KnowledgeBase.stream` does.
    """
    if not turns:
        on_query(question)
        yield from kb.stream(question)
    elif model is None:
        yield from answered(kb, question, turns[-1], on_query=lambda query: on_query(query.text))
    else:
        recent = _recent(turns, model, history_tokens)
        query = rewritten(model, templates, question, recent).text
        on_query(query)
        yield from kb.stream(question, query=query, history=recent)


def answered(
    kb: KnowledgeBase,
    question: str,
    before: Turn,
    *,
    cited: Sequence[Hit] = (),
    on_query: Callable[[Standalone], None],
) -> Iterator[Piece]:
    """Answer a question without a language model, with words of the one before if it needs them.

    `before` is that one as it was searched for, and its answer; `cited` are the passages that the
    answer cites: they are considered only where such words are added. Otherwise as `stream`. A
    short question may be tried twice: nothing is yielded until it is known which try counts.
    """
    query = expanded(question, before.question)
    tries = Tries(kb.showing_nobody(), question, before, cited)
    if follows_on(question):
        searched, pieces = tries.as_follow_up(query)
    elif may_follow(question):
        searched, pieces = tries.alone_first(query)
    else:
        on_query(Standalone(question, STANDS_ALONE))
        yield from kb.stream(question)
        return
    on_query(searched)
    kb.show(answer_of(pieces).hits)
    yield from pieces


def rewritten(
    model: LanguageModel, templates: Templates, question: str, history: Sequence[Turn]
) -> Standalone:
    """Let a model rewrite a question, unless it plainly stands alone. Raises SettingsError."""
    if surely_alone(question):
        return Standalone(question, STANDS_ALONE)
    return rewrite(model, templates, question, history)


def _recent(turns: Sequence[Turn], model: LanguageModel, budget_tokens: int) -> Sequence[Turn]:
    """Keep as many of the latest turns as fit."""
    sizes = model.count_tokens([f"{turn.question}\n{turn.answer}" for turn in turns])
    kept, left = 0, budget_tokens
    for size in reversed(sizes):
        if size > left:
            break
        kept, left = kept + 1, left - size
    return turns[len(turns) - kept :]
