"""The stored record of a turn, made of its answer."""

from __future__ import annotations

from collections.abc import Sequence

from ragkit.conversation.memory import Memory
from ragkit.question.rewrite import Standalone
from ragkit.store.people.conversations import StoredTurn, UsedPassage
from ragkit.types import Answer, Hit, Turn


def turn_of(question: str, query: Standalone, memory: Memory, answer: Answer) -> StoredTurn:
    """Make the record of an answered question."""
    used, first_source = _first_shown(answer.used, memory.turns)
    return StoredTurn(
        question=question,
        query=query.text,
        answer=answer.text,
        refused=answer.refused,
        reason=answer.reason,
        citations=answer.citations,
        claims=answer.claims,
        unverified=answer.unverified,
        used=tuple(_passage(hit) for hit in used),
        first_source=first_source,
        cited=_cited(answer),
        trace={
            "query": query.made,
            "history": memory.note,
            **{f"search {name}": str(note) for name, note in answer.searched.items()},
        },
        timings=answer.timings,
    )


def _first_shown(used: Sequence[Hit], history: Sequence[Turn]) -> tuple[Sequence[Hit], int]:
    """Return the passages after those of the history, and the number of the first of them.

    A prompt shows the history's passages before its own, or, for lack of room, none of them.
    """
    earlier = [_passage(hit) for turn in history for hit in turn.used]
    if [_passage(hit) for hit in used[: len(earlier)]] != earlier:
        return used, 1
    return used[len(earlier) :], len(earlier) + 1


def _passage(hit: Hit) -> UsedPassage:
    return UsedPassage(hit.chunk, hit.document, hit.version, hit.start, hit.end)


def _cited(answer: Answer) -> tuple[int, ...]:
    """List the chunks in which the citations begin."""
    chunks = [
        hit.chunk
        for citation in answer.citations
        for hit in (*answer.used, *answer.hits)
        if hit.document == citation.document and hit.start <= citation.start < hit.end
    ]
    return tuple(dict.fromkeys(chunks))
