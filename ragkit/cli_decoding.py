"""The decoding options that `ask` and its kin share, and the Decoding that they make.

An option that is not given leaves the setting as it is.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragkit.errors import UsageError

if TYPE_CHECKING:
    from ragkit.settings import Settings
    from ragkit.types import Decoding


Temperature = Annotated[
    float | None,
    typer.Option(min=0, max=5, help="0 takes the likeliest token."),
]
TopP = Annotated[
    float | None,
    typer.Option(min=0.01, max=1, help="Draw from this share of likelihood."),
]
TopK = Annotated[
    int | None,
    typer.Option(min=1, help="Draw from this many tokens."),
]
MinP = Annotated[
    float | None,
    typer.Option(min=0, max=1, help="Drop tokens below this share of the likeliest."),
]
RepetitionPenalty = Annotated[
    float | None,
    typer.Option(min=0.01, max=10, help="Above 1 repeats less."),
]
PresencePenalty = Annotated[
    float | None,
    typer.Option(min=-2, max=2, help="Above 0 says new things."),
]
MaxTokens = Annotated[int | None, typer.Option(min=1, help="Of the answer, at most.")]
Stop = Annotated[
    list[str] | None,
    typer.Option(help="End before this text; may be given again."),
]
Seed = Annotated[int | None, typer.Option(min=0, help="Of the draws.")]
JsonSchema = Annotated[
    Path | None,
    typer.Option(help="A file with the JSON schema to answer by."),
]
Regex = Annotated[
    str | None,
    typer.Option(help="A regular expression to answer by."),
]


def decoding_with(
    settings: Settings, *, json_schema: Path | None, regex: str | None, **given: Any
) -> Decoding:
    """Return the settings' decoding with the given options in their places.

    Raises UsageError for both a schema and a regex, for a file that is no schema, and for either
    without a language model.
    """
    from ragkit.build import decoding

    if json_schema is not None and regex is not None:
        raise UsageError("give --json-schema or --regex, not both")
    if settings.llm_url is None and (json_schema is not None or regex is not None):
        raise UsageError(
            "--json-schema and --regex need a language model: set RAGKIT_LLM_URL and"
            " RAGKIT_LLM_MODEL"
        )
    given["stop"] = tuple(given.get("stop") or ()) or None
    chosen = {name: value for name, value in given.items() if value is not None}
    schema = None if json_schema is None else _read_schema(json_schema)
    return replace(decoding(settings), **chosen, json_schema=schema, regex=regex)


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
