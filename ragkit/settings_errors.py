"""What is said of a setting that cannot be used: where it stands, its value and the remedy.

Knows neither the settings nor where they come from; values that may hold secrets are masked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from ragkit.masking import masked
from ragkit.settings_reference import FORMER
from ragkit.settings_tables import written

if TYPE_CHECKING:
    from pydantic import ValidationError

PREFIX: Final = "RAGKIT_"  # of the variables


def explained(
    error: ValidationError,
    known: Collection[str],
    values: Mapping[str, object] | None = None,
    origins: Mapping[str, str] | None = None,
) -> str:
    """Make one line of the first thing that pydantic finds wrong.

    `known` names the settings that there are; `values` are those given, and `origins` tells where.
    """
    values, origins = values or {}, origins or {}
    first = error.errors(include_url=False, include_input=False)[0]
    name = str(first["loc"][0])
    origin = origins.get(name, "")
    if first["type"] == "extra_forbidden":
        return _unknown(name, origin, known)
    in_file = f"{origin}: {written(name)}" if origin else name
    where = origin if origin.startswith(PREFIX) else in_file
    if name in values:
        shown = masked(name, values[name])
        where += f" = {short(shown) if isinstance(values[name], str) else shown[:80]}"
    reason = first["msg"].removeprefix("Value error, ").removeprefix("Input ").rstrip(".")
    return f"{where} cannot be used: {reason}. Correct it, or take it away for the default."


def short(value: str) -> str:
    """Write a value in a message, at most 80 characters of it."""
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:77] + "...'"


def short_path(path: str) -> str:
    """Write a path in a message; of a very long one its end, which tells more."""
    shown = repr(path)
    return shown if len(shown) <= 300 else "'..." + shown[-296:]


def _unknown(name: str, origin: str, known: Collection[str]) -> str:
    close = get_close_matches(name, known, n=1)
    remedy = f"write {close[0]}" if close else f"use one of {', '.join(known)}"
    remedy = FORMER.get(name, remedy)
    return f"{origin or 'Settings'}: there is no setting {short(name)}; {remedy}."
