"""A server's JSON read as frozen values, and everything that is malformed refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from ragkit.api_values import KeptConversation, ServedAnswer, ServedCollection
from ragkit.errors import ServerError
from ragkit.json_values import from_json, read_member
from ragkit.types import Citation, Claim, Usage

T = TypeVar("T")


def value(kind: type[T], data: object) -> T:
    """Read a value from a JSON object; members that are no field of it are ignored.

    Raises ServerError for one in which something is missing or malformed.
    """
    try:
        return from_json(kind, data)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ServerError(
            f"the server's answer cannot be read as a {kind.__name__} ({error}): check that it and"
            " this client are of one version"
        ) from error


def values(kind: type[T], data: object) -> tuple[T, ...]:
    """Read values from a JSON array. Raises ServerError."""
    return tuple(value(kind, member) for member in (data if isinstance(data, list) else [None]))


def answer(body: Mapping[str, Any], text: str, reasoning: str, context: object) -> ServedAnswer:
    """Make the answer of a completion out of its head, its text and its context.

    An OpenAI-style server that sends no context gives an answer without citations.
    """
    checks = context if isinstance(context, Mapping) else {}
    return ServedAnswer(
        text=text,
        refused=bool(checks.get("refused", False)),
        reason=str(checks.get("reason", "")),
        citations=values(Citation, checks.get("citations", [])),
        unverified=tuple(checks.get("unverified", ())),
        timings=checks.get("timings", {}),
        usage=_usage(body.get("usage")),
        claims=values(Claim, checks.get("claims", [])),
        reasoning=reasoning,
        prompt=str(checks.get("prompt", "")),
        id=str(body.get("id", "")),
        conversation=read_member(UUID | None, checks.get("conversation")),
    )


def collection(data: object) -> ServedCollection:
    """Read a collection, whose name is its id on the wire. Raises ServerError."""
    named = {**data, "name": data.get("id")} if isinstance(data, Mapping) else data
    return value(ServedCollection, named)


def conversation(data: object) -> KeptConversation:
    """Read a conversation with its turns listed or counted. Raises ServerError."""
    if isinstance(data, Mapping) and isinstance(data.get("turns"), list):
        data = {**data, "turns": len(data["turns"])}
    return value(KeptConversation, data)


def _usage(data: object) -> Usage | None:
    if not isinstance(data, Mapping) or not data.get("total_tokens"):
        return None
    details: Any = data.get("prompt_tokens_details") or {}
    return Usage(
        prompt_tokens=int(data.get("prompt_tokens", 0)),
        completion_tokens=int(data.get("completion_tokens", 0)),
        cached_tokens=details.get("cached_tokens"),
    )
