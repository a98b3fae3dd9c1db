"""Names for members of containers: safe to show and to store, each used once.

Nothing here touches a disk; a name is a label that later ends a document's address.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragkit.text.normalise import clean
from ragkit_ingest.parse.chinese_score import familiarity

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+")
_FAMILIAR = 0.2  # as for a text's encoding, see decode.py
_CHINESE = ("gb18030", "big5hkscs")
_NOISE = frozenset({"__macosx", "thumbs.db", "desktop.ini"})  # what systems leave beside files
_MAX_NAME_CHARS = 255  # what file systems take
_MAX_SUFFIX_CHARS = 16  # arbitrary; longer "suffixes" are part of a sentence


def path_parts(name: str) -> list[str]:
    """Split a name into the folders and the file that it means, none of which leads upwards.

    >>> path_parts("C:\\\\a/../../etc//b.txt")
    ['a', 'etc', 'b.txt']
    """
    plain = _CONTROLS.sub("", clean(name)).replace("\\", "/")
    parts = [part.strip() for part in plain.split("/")]
    if parts and len(parts[0]) == len("C:") and parts[0].endswith(":"):
        del parts[0]
    return [_short(part) for part in parts if part not in {"", ".", ".."}]


def unused(name: str, used: set[str]) -> str:
    """Give a name that is not taken yet, and take it; those that meet get a number.

    >>> unused("a.txt", {"a.txt"})
    'a (2).txt'
    """
    stem, dot, suffix = name.rpartition(".")
    candidate, number = name, 1
    while candidate in used:
        number += 1
        candidate = f"{stem} ({number}).{suffix}" if dot and stem else f"{name} ({number})"
    used.add(candidate)
    return candidate


def is_noise(parts: Sequence[str]) -> bool:
    """Say whether a path is hidden, or what a system or Office leaves beside files."""
    hidden = any(part[0] == "." or part.casefold() in _NOISE for part in parts)
    return hidden or parts[-1].startswith("~$")  # Office's mark of an open file


def encoding_of(names: bytes) -> str:
    """Tell the encoding of names whose archive does not: UTF-8, Chinese, or the old PC's own."""
    try:
        names.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        return "utf-8"
    scores = {}
    for encoding in _CHINESE:
        try:
            scores[encoding] = familiarity(names.decode(encoding))
        except UnicodeDecodeError:
            continue
    best = max(scores, key=lambda name: scores[name], default="")
    return best if best and scores[best] >= _FAMILIAR else "cp437"


def _short(name: str) -> str:
    if len(name) <= _MAX_NAME_CHARS:
        return name
    suffix = name[name.rfind(".") :] if "." in name[-_MAX_SUFFIX_CHARS:] else ""
    return name[: _MAX_NAME_CHARS - len(suffix)] + suffix
