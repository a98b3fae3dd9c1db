"""What a server answers, as frozen values; and how its JSON becomes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import datetime
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints
from uuid import UUID

from ragkit.errors import ServerError
from ragkit.types import Answer, Citation, Claim, Usage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ServedAnswer(Answer):
    """An answer with the id that feedback on it names; `conversation` is the one it belongs to.

    It can be rated by its id when it was asked for with `keep`.
    """

    id: str = ""
    conversation: UUID | None = None


@dataclass(frozen=True, slots=True)
class ServedCollection:
    """A collection that the key may see; `chunks` and `documents` count what is in it."""

    name: str
    documents: int
    chunks: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ServedVersion:
    """A version of a document, as a document of the number `document`; current until `to`.

    `to` is None of the one that still is.
    """

    version: int
    document: int
    since: datetime
    to: datetime | None
    title: str
    chars: int


@dataclass(frozen=True, slots=True)
class Job:
    """How an uploaded file's way into its collection stands: `done` of `total` chunks embedded.

    A failed one says at which `stage` and for what `reason`; a done one names the `document`, and
    in `reason` what was taken out of a mail or archive and what was left out.
    """

    id: int
    collection: str
    name: str
    uri: str
    state: Literal["queued", "running", "done", "failed"]
    done: int
    total: int
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
    """A question of a conversation as it was asked and as it was searched for, and its answer.

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
    """What somebody thinks of an answer, with a copy of the question and the answer."""

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


def value(kind: type[T], data: object) -> T:
    """Make a value of a JSON object; what it has beside the value's fields is left aside.

    Raises ServerError for one in which something is missing or malformed.
    """
    try:
        if not isinstance(data, Mapping):
            raise TypeError("it is no object")
        hints = get_type_hints(kind)
        found = {
            field.name: _read(hints[field.name], data[field.name])
            for field in fields(kind)  # type: ignore[arg-type]
            if field.name in data or _required(field)
        }
        return kind(**found)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ServerError(
            f"the server's answer cannot be read as a {kind.__name__} ({error}): check that it and"
            " this client are of one version"
        ) from error


def values(kind: type[T], data: object) -> tuple[T, ...]:
    """Make values of a JSON array. Raises ServerError."""
    return tuple(value(kind, one) for one in (data if isinstance(data, list) else [None]))


def answer(body: Mapping[str, Any], text: str, reasoning: str, context: object) -> ServedAnswer:
    """Make the answer of a completion out of its head, its text and its context.

    An OpenAI-style server that sends no context gives an answer without citations.
    """
    about = context if isinstance(context, Mapping) else {}
    return ServedAnswer(
        text=text,
        refused=bool(about.get("refused", False)),
        reason=str(about.get("reason", "")),
        citations=values(Citation, about.get("citations", [])),
        unverified=tuple(about.get("unverified", ())),
        timings=about.get("timings", {}),
        usage=_usage(body.get("usage")),
        claims=values(Claim, about.get("claims", [])),
        reasoning=reasoning,
        prompt=str(about.get("prompt", "")),
        id=str(body.get("id", "")),
        conversation=_read(UUID | None, about.get("conversation")),
    )


def _required(field: Any) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _read(hint: Any, data: Any) -> Any:
    """Read what stands in the place of a field of this type."""
    if get_origin(hint) is tuple:
        kind: Any = get_args(hint)[0]
        many: tuple[Any, ...] = (
            values(kind, data)
            if isinstance(kind, type) and is_dataclass(kind)
            else tuple(_read(kind, one) for one in data)
        )
        return many
    kinds = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    if data is None and NoneType in kinds:
        return None
    if UUID in kinds:
        return UUID(data)
    if datetime in kinds:
        return datetime.fromisoformat(data)
    if float in kinds and not isinstance(data, bool):
        return float(data)
    if hint in {int, str, bool} and type(data) is not hint:
        raise TypeError(f"{str(data)[:40]!r} is no {hint.__name__}")
    return data


def _usage(data: object) -> Usage | None:
    if not isinstance(data, Mapping) or not data.get("total_tokens"):
        return None
    details: Any = data.get("prompt_tokens_details") or {}
    return Usage(
        prompt_tokens=int(data.get("prompt_tokens", 0)),
        completion_tokens=int(data.get("completion_tokens", 0)),
        cached_tokens=details.get("cached_tokens"),
    )


def collection(data: object) -> ServedCollection:
    """Make a collection of its JSON, where its name is its id. Raises ServerError."""
    named = {**data, "name": data.get("id")} if isinstance(data, Mapping) else data
    return value(ServedCollection, named)


def conversation(data: object) -> KeptConversation:
    """Make a conversation of its JSON, its turns listed or counted. Raises ServerError."""
    if isinstance(data, Mapping) and isinstance(data.get("turns"), list):
        data = {**data, "turns": len(data["turns"])}
    return value(KeptConversation, data)
