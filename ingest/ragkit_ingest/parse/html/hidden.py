"""Recognise elements whose own attributes hide their text from readers of the page.

Such text is often left over, and sometimes planted to be read by machines only. Only what is
certain counts: it knows nothing of style sheets and scripts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_ZERO = re.compile(r"(?:0+(?:\.0*)?|\.0+)(?:px|pt|em|rem|ex|ch|vw|vh|%)?$")
# A screen has some 2,000 pixels.
_FAR_OFF = re.compile(r"-\d{3,9}(?:\.\d{1,9})?(?:px|pt|em|rem|vw|vh|%)$")
_CLIPPED = re.compile(r"rect\((?:[01](?:px)?[,\s]*){4}\)$|inset\((?:50|100)%\)$")
_SHIFTS = ("left", "top", "right", "bottom", "margin-left", "margin-top")
_MAX_STYLE_CHARS = 4000  # arbitrary
_WHITE = {"#fff": "white", "#ffffff": "white", "#000": "black", "#000000": "black"}


def is_hidden(tag: str, attributes: Mapping[str, str]) -> bool:
    """Say whether nobody sees an element: hidden, transparent, of no size, or off the page."""
    if tag == "dialog" and "open" not in attributes:
        return True
    if not attributes:
        return False
    if "hidden" in attributes and attributes["hidden"] != "until-found":
        return True
    style = attributes.get("style")
    return bool(style) and _hides(_declarations(style or ""))


def _hides(style: Mapping[str, str]) -> bool:
    return (
        style.get("display") == "none"
        or style.get("visibility") in {"hidden", "collapse"}
        or any(_ZERO.match(style.get(name, "1")) is not None for name in ("opacity", "font-size"))
        or style.get("transform") in {"scale(0)", "scale(0,0)"}
        or _is_off_page(style)
        or _is_unseen(style)
    )


def _is_off_page(style: Mapping[str, str]) -> bool:
    if _FAR_OFF.match(style.get("text-indent", "")):
        return True
    if style.get("position") not in {"absolute", "fixed"}:
        return False
    return any(_FAR_OFF.match(style.get(name, "")) for name in _SHIFTS) or any(
        _CLIPPED.match(style.get(name, "")) for name in ("clip", "clip-path")
    )


def _is_unseen(style: Mapping[str, str]) -> bool:
    """Say whether a text is transparent, or in the colour that is given for its background."""
    colour = _colour(style.get("color", ""))
    behind = _colour(style.get("background-color") or style.get("background", ""))
    return colour == "transparent" or bool(colour and colour == behind)


def _colour(value: str) -> str:
    return _WHITE.get(value, value)


def _declarations(style: str) -> dict[str, str]:
    """Read "name: value" pairs; the last of a name wins, as in a browser."""
    declarations: dict[str, str] = {}
    for pair in style[:_MAX_STYLE_CHARS].lower().split(";"):
        name, colon, value = pair.partition(":")
        if colon:
            declarations[name.strip()] = value.replace("!important", "").strip()
    return declarations
