"""Ask a language model for an object of a JSON schema; an unreadable reply is a ParseFailure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ragkit.contracts import LanguageModel
from ragkit.errors import ModelServerError
from ragkit.types import Decoding, Finish, Message

ATTEMPTS: Final = 2  # at temperature 0 a third reply would hardly differ
_FENCE = re.compile(r"```(?:json)?(.*)```", re.DOTALL)
_TYPES: Final = {"string": str, "integer": int, "boolean": bool}


@dataclass(frozen=True, slots=True)
class ParseFailure:
    """A reply that does not follow the schema: its text, and the reason."""

    raw: str
    why: str


def bound_reply(
    model: LanguageModel,
    messages: Sequence[Message],
    schema: Mapping[str, Any],
    *,
    decoding: Decoding,
) -> Mapping[str, Any] | ParseFailure:
    """Ask for an object of a schema's properties, at most twice, and return the last reply.

    A server that supports schemas binds the model to the schema; the reply is checked in any case.
    Raises ModelError, for example for a model that takes no schema.
    """
    from dataclasses import replace

    reply: Mapping[str, Any] | ParseFailure = ParseFailure("", "nothing was asked")
    for attempt in range(ATTEMPTS):
        # A different seed, for models that sample.
        seed = None if decoding.seed is None else decoding.seed + attempt
        bound_decoding = replace(decoding, json_schema=schema, regex=None, seed=seed)
        text, finish = _complete(model, messages, bound_decoding)
        reply = parsed(text, schema, cut=finish == "length")
        if not isinstance(reply, ParseFailure):
            return reply
    return reply


def parsed(
    text: str, schema: Mapping[str, Any], *, cut: bool = False
) -> Mapping[str, Any] | ParseFailure:
    """Read an object with exactly a schema's properties, of their types and their `enum`.

    >>> schema = {"properties": {"score": {"type": "integer", "enum": [0, 1]}}}
    >>> parsed('{"score": 1}', schema)
    {'score': 1}
    >>> parsed('{"score": 3}', schema).why
    '"score" is 3: not one of 0, 1'
    """
    if cut:
        return ParseFailure(text, "it was cut off at the limit of tokens")
    fenced = _FENCE.fullmatch(text.strip())
    try:
        values = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError) as error:
        return ParseFailure(text, f"it is not JSON: {error}")
    properties = schema["properties"]
    if not isinstance(values, dict) or set(values) != set(properties):
        return ParseFailure(text, f"it is not an object of {', '.join(properties)}")
    for name, rule in properties.items():
        value, kind = values[name], _TYPES[rule["type"]]
        if type(value) is not kind:
            return ParseFailure(text, f'"{name}" is not of the type {rule["type"]}')
        if "enum" in rule and value not in rule["enum"]:
            choices = ", ".join(map(str, rule["enum"]))
            return ParseFailure(text, f'"{name}" is {value}: not one of {choices}')
    return values


def _complete(
    model: LanguageModel, messages: Sequence[Message], decoding: Decoding
) -> tuple[str, str]:
    pieces: list[str] = []
    for piece in model.stream(messages, decoding):
        if isinstance(piece, str):
            pieces.append(piece)
        elif isinstance(piece, Finish):
            return "".join(pieces), piece.reason
    raise ModelServerError(f"model {model.name!r} ended without saying how")
