"""What users choose by name: a table of "module:attribute" by kind, plus entry points.

A package adds a name with an entry point in the group `ragkit.<kind>`. Nothing is imported before
it is asked for, and nothing is known here of what an implementation takes or does.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Literal

from ragkit.errors import SettingsError

Kind = Literal["embedder", "generator"]

_BUILT_IN: Mapping[Kind, Mapping[str, str]] = {
    "embedder": {"local": "ragkit.embed.local:LocalEmbedder"},
    "generator": {
        "chat": "ragkit.answer.llm:ChatGenerator",
        "extractive": "ragkit.answer.extract:ExtractiveGenerator",
    },
}


def available(kind: Kind) -> Mapping[str, str]:
    """Map each name of a kind to its "module:attribute"; SettingsError when two claim a name."""
    found = dict(_BUILT_IN[kind])
    for point in entry_points(group=f"ragkit.{kind}"):
        if point.name in found:
            raise SettingsError(
                f"Two packages offer the {kind} {point.name!r}: {found[point.name]} and"
                f" {point.value}. Uninstall one of them."
            )
        found[point.name] = point.value
    return found


def find(kind: Kind, name: str) -> Any:
    """Import what a kind's name stands for, usually a class.

    >>> find("generator", "extractive").__name__
    'ExtractiveGenerator'
    """
    known = available(kind)
    if name not in known:
        likely = get_close_matches(name, known, n=1) or sorted(known)
        raise SettingsError(f"There is no {kind} {name!r}: use {' or '.join(likely)}.")
    module, _, attribute = known[name].partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise SettingsError(
            f"The {kind} {name!r} ({known[name]}) cannot be imported: {error}."
            " Install or update the package it comes from."
        ) from error
