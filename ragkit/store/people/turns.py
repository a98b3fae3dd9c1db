"""Turns of conversations as values, and as columns of PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from ragkit.store.connection.rows import kept_citations
from ragkit.types import Citation, Claim


@dataclass(frozen=True, slots=True)
class UsedPassage:
    """A passage that was shown for a turn: the part `start:end` of a document's text."""

    chunk: int
    document: int
    version: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """A question as it was asked and as it was searched for, with everything of its answer.

    `used` are the passages first shown for this turn; as sources they were numbered from
    `first_source`. `cited` are the chunks that its citations are of. `trace` says how the query
    was made and how much of the history was shown.
    `ordinal` counts from 1, and is left out where a turn took another's place; it and `created_at`
    are given by the database.
    """

    question: str
    query: str
    answer: str
    refused: bool
    reason: str
    citations: tuple[Citation, ...] = ()
    claims: tuple[Claim, ...] = ()
    unverified: tuple[str, ...] = ()
    used: tuple[UsedPassage, ...] = ()
    first_source: int = 1
    cited: tuple[int, ...] = ()
    trace: Mapping[str, str] = field(default_factory=dict)
    timings: Mapping[str, float] = field(default_factory=dict)
    ordinal: int = 0
    created_at: datetime | None = None


def storable(text: str) -> str:
    """Replace the characters that PostgreSQL stores in no text: NUL, lone surrogates."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def turn_values(turn: StoredTurn) -> dict[str, object]:
    """Write a turn as parameters."""
    return {
        "question": storable(turn.question),
        "query": storable(turn.query),
        "answer": storable(turn.answer),
        "refused": turn.refused,
        "reason": storable(turn.reason),
        "citations": Jsonb([asdict(citation) for citation in turn.citations]),
        "claims": Jsonb(
            [asdict(claim) | {"reason": storable(claim.reason)} for claim in turn.claims]
        ),
        "unverified": [storable(piece) for piece in turn.unverified],
        "used": Jsonb([asdict(passage) for passage in turn.used]),
        "first_source": turn.first_source,
        "cited": list(turn.cited),
        "trace": Jsonb({name: storable(note) for name, note in turn.trace.items()}),
        "timings": Jsonb(dict(turn.timings)),
    }


def read_turn(row: Sequence[Any]) -> StoredTurn:
    """Read a row of a turn, without citations of documents that are hidden."""
    ordinal, question, query, answer, refused, reason, citations, claims, unverified = row[:9]
    used, first_source, cited, trace, timings, created_at, hidden = row[9:]
    return StoredTurn(
        question=question,
        query=query,
        answer=answer,
        refused=refused,
        reason=reason,
        citations=kept_citations(citations, hidden),
        claims=tuple(Claim(**{**claim, "cites": tuple(claim["cites"])}) for claim in claims),
        unverified=tuple(unverified),
        used=tuple(UsedPassage(**passage) for passage in used),
        first_source=first_source,
        cited=tuple(cited),
        trace=trace,
        timings=timings,
        ordinal=ordinal,
        created_at=created_at,
    )
