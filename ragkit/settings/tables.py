"""Where a setting stands in ragkit.toml: its table and its key there.

`llm_url` is `url` in [llm]. Settings of one table need not begin with its name: `top_k` is `top_k`
in [search]. Variables have the setting's whole name: RAGKIT_LLM_URL, RAGKIT_TOP_K.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Final

from ragkit.errors import SettingsError
from ragkit.settings.reference import FORMER, TABLES

_TABLE_OF: Final = {name: table for table, entries in TABLES.items() for name in entries}


def place(name: str) -> tuple[str, str]:
    """Return a setting's table and its key there; the table "" is the beginning of the file.

    >>> place("llm_url"), place("top_k"), place("home")
    (('llm', 'url'), ('search', 'top_k'), ('', 'home'))
    """
    table = _TABLE_OF[name]
    return table, name.removeprefix(f"{table}_")


def written(name: str) -> str:
    """Write a setting as ragkit.toml has it; an unknown name stays as it is.

    >>> written("llm_url"), written("home")
    ('[llm] url', 'home')
    """
    if name not in _TABLE_OF:
        return name
    table, key = place(name)
    return f"[{table}] {key}" if table else key


def names_of(values: Mapping[str, Any], file: str) -> dict[str, Any]:
    """Return the values of a file's tables by the settings' names.

    Raises SettingsError for an unknown key or table, with the closest match.
    """
    by_place = {place(name): name for name in _TABLE_OF}
    named = {}
    for key, value in values.items():
        if key in TABLES and key:
            if not isinstance(value, Mapping):
                raise SettingsError(f"{file}: {key} is a table: write [{key}] and its keys below.")
            for inner, entry in value.items():
                if (key, inner) not in by_place:
                    raise SettingsError(f"{file}: {_unknown_key(key, inner)}")
                named[by_place[key, inner]] = entry
        elif ("", key) in by_place:
            named[key] = value
        elif isinstance(value, Mapping):
            remedy = _remedy(key, [f"[{table}]" for table in TABLES if table])
            raise SettingsError(f"{file}: there is no table {key!r:.80}; {remedy}.")
        else:
            raise SettingsError(f"{file}: {_unknown_at_the_top(key)}")
    return named


def _unknown_at_the_top(key: str) -> str:
    if key in _TABLE_OF:
        table, inner = place(key)
        renamed = "" if key == inner else f" as {inner}"
        return f"{key} stands in the table [{table}]{renamed} now: move it there."
    close = get_close_matches(key, _TABLE_OF, n=1)
    top = [name for name, table in _TABLE_OF.items() if not table]
    remedy = f"write {written(close[0])}" if close else _remedy(key, top)
    return f"there is no setting {key!r:.80}; {remedy}."


def _unknown_key(table: str, key: str) -> str:
    inside = [place(name)[1] for name in TABLES[table]]
    elsewhere = [name for name in _TABLE_OF if key in {name, place(name)[1]}]
    if key in FORMER:
        remedy = FORMER[key]
    elif not get_close_matches(key, inside, n=1) and elsewhere:
        remedy = f"write {written(elsewhere[0])}"
    else:
        remedy = _remedy(key, inside)
    return f"there is no setting {key!r:.80} in [{table}]; {remedy}."


def _remedy(key: str, keys: Iterable[str]) -> str:
    keys = list(keys)
    close = get_close_matches(key, keys, n=1)
    return f"write {close[0]}" if close else f"use one of {', '.join(keys)}"
