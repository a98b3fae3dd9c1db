"""The styles of a Word document that make headings and lists, in any language."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragkit_ingest.parse.office.archive import attribute, child, local, number

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

# Word writes "heading 1" in every language, other programs may not.
_HEADING = re.compile(
    r"(?:heading|标题|標題|見出し|제목|überschrift|titre|título|titolo|заголовок|kop)\s*([1-9])",
    re.IGNORECASE,
)
_TITLES = frozenset({"title", "标题", "標題", "titel", "titre", "título", "titolo"})
_MAX_BASES = 20  # arbitrary; styles are based on each other, and a file may have a ring of them


@dataclass(frozen=True, slots=True)
class Style:
    """A heading's level from 1, or 0; the list its paragraphs are in, or "".

    `is_title` is the style of what the whole document is called.
    """

    level: int = 0
    num_id: str = ""
    depth: int = 0
    is_title: bool = False


def styles(root: Element | None) -> dict[str, Style]:
    """Map the ids of paragraph styles to what they make of a paragraph."""
    elements = {
        attribute(item, "styleId") or "": item
        for item in (root if root is not None else ())
        if local(item) == "style"
    }
    return {style_id: _style(style_id, elements) for style_id in elements}


def _style(style_id: str, elements: dict[str, Element]) -> Style:
    level: int | None = None
    num_id: str | None = None
    depth: int | None = None
    is_title = False
    for _ in range(_MAX_BASES):
        element = elements.get(style_id)
        if element is None:
            break
        properties = child(element, "pPr")
        if level is None:
            level = _level(element, properties)
            is_title = level is not None and _name(element).casefold() in _TITLES
        num = child(properties, "numPr")
        if num_id is None:
            num_id = attribute(child(num, "numId"), "val")
        if depth is None and (ilvl := attribute(child(num, "ilvl"), "val")) is not None:
            depth = number(ilvl)
        style_id = attribute(child(element, "basedOn"), "val") or ""
    return Style(level or 0, num_id or "", depth or 0, is_title)


def _level(element: Element, properties: Element | None) -> int | None:
    """Give a style's own heading level, 0 for body text; None when it says nothing about it."""
    outline = attribute(child(properties, "outlineLvl"), "val")
    if outline is not None:
        level = number(outline, 9) + 1
        return level if level <= 9 else 0
    name = _name(element)
    heading = _HEADING.fullmatch(name)
    if heading:
        return int(heading.group(1))
    return 1 if name.casefold() in _TITLES else None


def _name(element: Element) -> str:
    return (attribute(child(element, "name"), "val") or "").strip()
