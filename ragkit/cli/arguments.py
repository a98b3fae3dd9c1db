"""A request read from the arguments of `ragkit ask` or `ragkit search`, as the command reads them.

The command itself handles all other arguments: wrong ones, `--help`, and options that replace
settings.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from ragkit.cli.output import AskRequest, Request, SearchRequest

_REQUESTS: Final[Mapping[str, type[AskRequest | SearchRequest]]] = {
    "ask": AskRequest,
    "search": SearchRequest,
}
_FIELDS: Final = {"json": "as_json"}  # what an option's field is called where its name is taken


def read_arguments(arguments: Sequence[str]) -> Request | None:
    """Read a command's name and arguments; return None for those that no request holds.

    >>> read_arguments(["ask", "-k", "3", "When", "is", "lunch?"]).question
    'When is lunch?'
    >>> read_arguments(["ask", "--seed", "7", "When?"]), read_arguments(["ask", "--help"])
    (None, None)
    """
    from typer import Exit

    from ragkit.cli.lazy import CommandError

    name, *options = arguments
    if name not in _REQUESTS:
        return None
    try:
        context = _command(name).make_context(name, options)
    except (CommandError, Exit):
        return None
    written = [option for option in context.params if _is_written(context, option)]
    return _request(name, context.params, written)


def _is_written(context: Any, option: str) -> bool:
    source = context.get_parameter_source(option)
    return source is not None and source.name != "DEFAULT"


def _request(name: str, params: Mapping[str, Any], written: Sequence[str]) -> Request | None:
    """Return the request, or None for an option that it has no field for."""
    values = {_FIELDS.get(option, option): value for option, value in params.items()}
    if name == "ask":
        values["question"] = " ".join(values.pop("words"))
    kind = _REQUESTS[name]
    fields = values.keys() & {field.name for field in dataclasses.fields(kind)}
    if {_FIELDS.get(option, option) for option in written} - fields - {"words"}:
        return None
    request: Request = kind(**{option: values[option] for option in fields})
    return request


@cache
def _command(name: str) -> Any:
    """Return the command without its help option, which would print here."""
    import typer

    from ragkit.cli.main import app

    group: Any = typer.main.get_command(app)
    command = group.get_command(None, name)
    command.add_help_option = False
    return command
