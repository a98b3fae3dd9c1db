"""One value asked of a language model, bound to a JSON schema; a reply that is none is a value too.

It knows nothing of what the value is for.
"""

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
    """A reply that is not what the schema asks for: its text as it came, and what is wrong."""

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

    A server that knows schemas binds the model to this one; what comes is checked all the same.
    Raises ModelError, such as that of a model that takes no schema.
    """
    from dataclasses import replace

    reply: Mapping[str, Any] | ParseFailure = ParseFailure("", "nothing was asked")
    for attempt in range(ATTEMPTS):
        # Another seed, for models that are not asked greedily.
        seed = None if decoding.seed is None else decoding.seed + attempt
        wanted = replace(decoding, json_schema=schema, regex=None, seed=seed)
        text, finish = _said(model, messages, wanted)
        reply = parsed(text, schema, cut=finish == "length")
        if not isinstance(reply, ParseFailure):
            return reply
    return reply


def parsed(
    text: str, schema: Mapping[str, Any], *, cut: bool = False
) -> Mapping[str, Any] | ParseFailure:
    """Read an object with exactly a schema's properties, each of its type and among its `enum`.

    >>> schema = {"properties": {"score": {"type": "integer", "enum": [0, 1]}}}
    >>> parsed('{"score": 1}', schema)
    {'score': 1}
    >>> parsed('{"score": 3}', schema).why
    '"score" is 3: none of 0, 1'
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
        return ParseFailure(text, f"it is no object of {', '.join(properties)}")
    for name, wanted in properties.items():
        value, kind = values[name], _TYPES[wanted["type"]]
        if type(value) is not kind:
            return ParseFailure(text, f'"{name}" is not of the type {wanted["type"]}')
        if "enum" in wanted and value not in wanted["enum"]:
            among = ", ".join(map(str, wanted["enum"]))
            return ParseFailure(text, f'"{name}" is {value}: none of {among}')
    return values


def _said(model: LanguageModel, messages: Sequence[Message], decoding: Decoding) -> tuple[str, str]:
    said: list[str] = []
    for piece in model.stream(messages, decoding):
        if isinstance(piece, str):
            said.append(piece)
        elif isinstance(piece, Finish):
            return "".join(said), piece.reason
    raise ModelServerError(f"model {model.name!r} ended without saying how")
