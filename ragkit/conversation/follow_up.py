"""Follow-ups to turns that somebody tells, such as a request's messages: nothing of them is kept.

`ragkit.conversation.dialogue` is for conversations that the database keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from ragkit.answer.question import read
from ragkit.conversation.expand import standalone
from ragkit.conversation.rewrite import Standalone, rewrite
from ragkit.knowledge import PASSAGES, KnowledgeBase
from ragkit.text.analyse import analyse
from ragkit.types import Answer, Reasoning, Turn

if TYPE_CHECKING:
    from ragkit.answer.templates import Templates
    from ragkit.contracts import LanguageModel


def stream(
    kb: KnowledgeBase,
    question: str,
    turns: Sequence[Turn],
    *,
    model: LanguageModel | None,
    templates: Templates,
    history_tokens: int,
    on_query: Callable[[str], None] = lambda query: None,
) -> Iterator[str | Reasoning | Answer]:
    """Answer a question in the light of turns before it, oldest first, of `history_tokens` at most.

    `model` rewrites follow-ups; without one, what a follow-up leaves out is taken from the question
    before. `on_query` is shown the question as it stands alone, before anything is searched for.
    Yields and raises what `KnowledgeBase.stream` does.
    """
    if not turns:
        on_query(question)
        yield from kb.stream(question)
    elif model is None:
        query = expanded(kb, question, turns[-1].question).text
        on_query(query)
        # Sentences are chosen by the question's own words, where it has any.
        yield from kb.stream(question if read(question).content else query, query=query)
    else:
        recent = _recent(turns, model, history_tokens)
        query = rewrite(model, templates, question, recent).text
        on_query(query)
        yield from kb.stream(question, query=query, history=recent)


def expanded(kb: KnowledgeBase, question: str, before: str) -> Standalone:
    """Expand a follow-up, unless what it then finds has nothing of what it asks itself.

    Without that test the answer to the question before would be given once more.
    """
    query = standalone(question, before)
    if query == question:
        return Standalone(question, "as asked")
    own = read(question).content
    found = kb.retriever().search(query, k=PASSAGES)
    if own and not any(own.intersection(analyse(hit.text)) for hit in found):
        return Standalone(question, "as asked: with words of the question before its own are lost")
    return Standalone(query, "with words of the question before")


def _recent(turns: Sequence[Turn], model: LanguageModel, budget_tokens: int) -> Sequence[Turn]:
    """Keep as many of the latest turns as fit."""
    sizes = model.count_tokens([f"{turn.question}\n{turn.answer}" for turn in turns])
    kept, left = 0, budget_tokens
    for size in reversed(sizes):
        if size > left:
            break
        kept, left = kept + 1, left - size
    return turns[len(turns) - kept :]
