"""Answer questions with earlier turns: the query, and the answer.

A question is searched for as it stands. Words of the previous question are added where it cannot
stand alone, or where it may leave something out and is refused as it stands (decision 35). Nothing
is stored here; `ragkit.conversation.dialogue` is for stored conversations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from ragkit.conversation.tries import Piece, Tries, answer_of
from ragkit.question.follow_up_words import add_words
from ragkit.question.rewrite import STANDS_ALONE, Standalone, rewrite
from ragkit.question.standalone import follows_on, may_follow, surely_alone

if TYPE_CHECKING:
    from ragkit.contracts import LanguageModel
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.prompts.templates import Templates
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
    """Answer a question with regard to earlier turns, oldest first, of `history_tokens` at most.

    `model` rewrites follow-ups; without one see `answer_by_words`. `on_query` gets the query before
    the answer's first piece. Yields and raises what `KnowledgeBase.stream` does.
    """
    if not turns:
        on_query(question)
        yield from kb.stream(question)
    elif model is None:
        yield from answer_by_words(
            kb, question, turns[-1], on_query=lambda query: on_query(query.text)
        )
    else:
        recent = _recent(turns, model, history_tokens)
        query = rewrite_if_needed(model, templates, question, recent).text
        on_query(query)
        yield from kb.stream(question, query=query, history=recent)


def answer_by_words(
    kb: KnowledgeBase,
    question: str,
    previous: Turn,
    *,
    cited: Sequence[Hit] = (),
    on_query: Callable[[Standalone], None],
) -> Iterator[Piece]:
    """Answer a question without a language model, adding words of the previous one if needed.

    `previous` is that turn with its query in the question's place; `cited` are the passages that
    its answer cites: they count only where such words are added. Otherwise as `stream`. A short
    question may be tried twice: nothing is yielded until it is known which try counts.
    """
    query = add_words(question, previous.question)
    tries = Tries(kb.adapted(on_found=lambda hits: None), question, previous, cited)
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


def rewrite_if_needed(
    model: LanguageModel, templates: Templates, question: str, history: Sequence[Turn]
) -> Standalone:
    """Let a model rewrite a question, unless it plainly stands alone. Raises SettingsError."""
    if surely_alone(question):
        return Standalone(question, STANDS_ALONE)
    return rewrite(model, templates, question, history)


def _recent(turns: Sequence[Turn], model: LanguageModel, budget_tokens: int) -> Sequence[Turn]:
    """Return as many of the latest turns as fit."""
    sizes = model.count_tokens([f"{turn.question}\n{turn.answer}" for turn in turns])
    number, budget = 0, budget_tokens
    for size in reversed(sizes):
        if size > budget:
            break
        number, budget = number + 1, budget - size
    return turns[len(turns) - number :]
