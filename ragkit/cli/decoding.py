"""Options of commands that a language model answers: `-o NAME=VALUE`, `--show-reasoning`.

`-o` says how the model chooses its tokens; what is not given is as the settings say.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer

from ragkit.errors import UsageError

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit.types import Decoding


class _Range(NamedTuple):
    number: Callable[[str], float]
    low: float
    high: float = inf


# The ranges that vLLM takes.
_NUMBERS: Final = {
    "temperature": _Range(float, 0, 5),
    "top_p": _Range(float, 0.01, 1),
    "top_k": _Range(int, 1),
    "min_p": _Range(float, 0, 1),
    "repetition_penalty": _Range(float, 0.01, 10),
    "presence_penalty": _Range(float, -2, 2),
    "max_tokens": _Range(int, 1),
    "seed": _Range(int, 0),
}
NAMES: Final = (*_NUMBERS, "stop", "json_schema", "regex")

ShowReasoning = Annotated[
    bool,
    typer.Option(
        "--show-reasoning", help="Print the reasoning of a thinking model to standard error."
    ),
]
DecodingOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-o",
        metavar="NAME=VALUE",
        help="Option of the language model, such as temperature=0.7 or "
        "max_tokens=200 (repeatable).",
    ),
]


def decoding_with(settings: Settings, options: Sequence[str]) -> Decoding:
    """Return the settings' decoding with the given NAME=VALUE in their places.

    Raises UsageError for an unknown name, a value out of range, both a schema and a regex, a file
    that is no schema, and for any of them without a language model.
    """
    from ragkit.knowledge.build import decoding

    if options and settings.llm_url is None:
        raise UsageError("-o needs a language model: set RAGKIT_LLM_URL")
    values: dict[str, Any] = {}
    for text in options:
        name, value = _read(text)
        values[name] = (*values.get(name, ()), value) if name == "stop" else value
    if "json_schema" in values and "regex" in values:
        raise UsageError("give json_schema or regex, not both")
    return replace(decoding(settings), **values)


def _read(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if name not in NAMES or not equals:
        raise UsageError(f"-o {text!r} is no option: write NAME=VALUE with one of {_listed()}")
    if name == "json_schema":
        return name, _read_schema(Path(value))
    if name not in _NUMBERS:
        return name, value
    number, low, high = _NUMBERS[name]
    try:
        parsed = number(value)
    except ValueError:
        parsed = None
    if parsed is None or not low <= parsed <= high:
        bounds = f"of at least {low:g}" if high == inf else f"from {low:g} to {high:g}"
        kind = "a whole number" if number is int else "a number"
        raise UsageError(f"-o {text!r}: {name} is {kind} {bounds}")
    return name, parsed


def _listed() -> str:
    return ", ".join(NAMES)


def _read_schema(file: Path) -> dict[str, Any]:
    try:
        schema = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    except ValueError as error:  # neither UTF-8 nor JSON
        raise UsageError(f"{file} is not JSON: {error}") from error
    if not isinstance(schema, dict):
        raise UsageError(f"{file} is no JSON schema: it must hold an object")
    return schema
