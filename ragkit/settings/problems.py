"""Messages about settings that cannot be used: where the setting stands, its value, the remedy.

Values that may hold secrets are masked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from ragkit.settings.reference import FORMER
from ragkit.settings.secrets import masked
from ragkit.settings.tables import written

if TYPE_CHECKING:
    from pydantic import ValidationError

PREFIX: Final = "RAGKIT_"  # of the variables


def explained(
    error: ValidationError,
    names: Collection[str],
    values: Mapping[str, object] | None = None,
    origins: Mapping[str, str] | None = None,
) -> str:
    """Return the first error that pydantic reports as one line.

    `names` are the settings that exist, `values` those that were set, `origins` where.
    """
    values, origins = values or {}, origins or {}
    first = error.errors(include_url=False, include_input=False)[0]
    name = str(first["loc"][0])
    origin = origins.get(name, "")
    if first["type"] == "extra_forbidden":
        return _unknown(name, origin, names)
    in_file = f"{origin}: {written(name)}" if origin else name
    where = origin if origin.startswith(PREFIX) else in_file
    if name in values:
        value_text = masked(name, values[name])
        where += f" = {short(value_text) if isinstance(values[name], str) else value_text[:80]}"
    reason = first["msg"].removeprefix("Value error, ").removeprefix("Input ").rstrip(".")
    return f"{where} cannot be used: {reason}. Correct it, or take it away for the default."


def short(value: str) -> str:
    """Write a value in a message, at most 80 characters of it."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "...'"


def short_path(path: str) -> str:
    """Write a path in a message; a very long one is cut to its end, which tells more."""
    text = repr(path)
    return text if len(text) <= 300 else "'..." + text[-296:]


def _unknown(name: str, origin: str, names: Collection[str]) -> str:
    close = get_close_matches(name, names, n=1)
    remedy = f"write {close[0]}" if close else f"use one of {', '.join(names)}"
    remedy = FORMER.get(name, remedy)
    return f"{origin or 'Settings'}: there is no setting {short(name)}; {remedy}."
