"""The values of its own that `ragkit serve` sends and `ragkit.client` returns."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from ragkit.types import Answer, Citation, Claim


@dataclass(frozen=True, slots=True)
class ServedAnswer(Answer):
    """An answer with the id that feedback on it names, and the conversation that it belongs to.

    It can be rated by its id when it was asked for with `keep`.
    """

    id: str = ""
    conversation: UUID | None = None


@dataclass(frozen=True, slots=True)
class ServedCollection:
    """A collection that the key may see, with the number of its documents and chunks."""

    name: str
    documents: int
    chunks: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ServedVersion:
    """A version of a document, which has the number `document` as that version.

    It was current from `since` until `to`, which is None for the current version.
    """

    version: int
    document: int
    since: datetime
    to: datetime | None
    title: str
    chars: int


@dataclass(frozen=True, slots=True)
class Job:
    """The state of an uploaded file's ingestion: `done` of `total` chunks are embedded.

    Both are 0 before the file is parsed. A failed job has the `stage` at which it failed and the
    `reason`; a done one has its `document`, and in `reason` what was taken out of a mail or
    archive, what was left out, or why all of it was.
    """

    id: int
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    collection: str
    name: str
    uri: str
    done: int
    total: int
    attempts: int
    stage: str
    reason: str
    document: int | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class TextPiece:
    """The characters `start:end` of a version of a document's text, of `chars` in all."""

    version: int
    start: int
    end: int
    chars: int
    text: str


@dataclass(frozen=True, slots=True)
class KeptTurn:
    """A question of a conversation, the query that was searched for, and the answer.

    `id` is what feedback on the answer names.
    """

    id: str
    question: str
    query: str
    answer: str
    refused: bool
    reason: str
    created_at: datetime
    citations: tuple[Citation, ...] = ()
    claims: tuple[Claim, ...] = ()
    unverified: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KeptConversation:
    """A conversation that the server keeps, with the number of its turns."""

    id: UUID
    title: str
    collection: str
    turns: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Rated:
    """A principal's rating of an answer, with a copy of the question and the answer."""

    id: int
    answer_id: str
    rating: Literal["up", "down"]
    comment: str
    principal: str
    collection: str
    question: str
    answer: str
    refused: bool
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Ranked:
    """A text's place `index` among those that were sent, and how well it fits; higher is better."""

    index: int
    score: float
    text: str
