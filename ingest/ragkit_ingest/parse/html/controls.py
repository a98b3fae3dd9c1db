"""Recognise controls in lines of text: links that edit a section, or mark its place."""

from __future__ import annotations

import re
from collections.abc import Mapping

CONTROLS = frozenset({"a", "span"})  # tags of elements that can be controls
_EDITS = frozenset({"mw-editsection", "editsection", "edit-section", "edit-link", "wiki-edit"})
_MARKS = frozenset({"headerlink", "anchor-link", "anchorjs-link", "hash-link", "heading-anchor"})
# A red link leads to a page that nobody has written yet; its text is one of a sentence.
_EDIT_TARGET = re.compile(r"[?&](?:ve)?action=edit(?:&(?!.{0,500}redlink)|$)")
_EMPTY_BRACKETS = re.compile(r"(?<!\s)\s*+[\[【][\s|/·,]*+[\]】]\s*+$")


def is_control(tag: str, attributes: Mapping[str, str]) -> bool:
    """Say whether an element only lets readers edit a section, or link to it."""
    names = (attributes.get("class") or "").split()
    if names and not (_EDITS | _MARKS).isdisjoint(names):
        return True
    if tag == "span":
        return False
    return attributes.get("rel") == "edit" or bool(
        _EDIT_TARGET.search(attributes.get("href") or "")
    )


def without_brackets(line: str) -> str:
    """Drop brackets at the end that stood around a control.

    >>> without_brackets("History [ | ]")
    'History'
    """
    return _EMPTY_BRACKETS.sub("", line)
