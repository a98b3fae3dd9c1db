"""Follow the links of a Word document through its runs: elements with a relation, and fields."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ragkit_ingest.parse.links import Link
from ragkit_ingest.parse.office.archive import attribute

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lxml.etree import _Element as Element

_LINKS = frozenset({"hyperlink", "fldSimple"})
_FIELD = re.compile(r'\s*HYPERLINK\s+"([^"]{1,2000})"', re.IGNORECASE)
_MAX_CODE_CHARS = 4000  # arbitrary; a field's code can come in many pieces


class Hyperlinks:
    """The links of the paragraph that is read; `relations` are the addresses of its part."""

    def __init__(self, relations: Mapping[str, str]) -> None:
        self._relations = relations
        self._links: list[Link] = []
        self._target = ""
        self._texts: list[str] = []
        self._code = ""  # of the field that is open

    def note(self, name: str, item: Element) -> None:
        """Note an element that may begin or end a link."""
        if name == "hyperlink":
            self._open(self._relations.get(attribute(item, "id") or "", ""))
        elif name == "fldSimple":
            self._open(_target(attribute(item, "instr") or ""))
        elif name == "instrText" and len(self._code) < _MAX_CODE_CHARS:
            self._code += item.text or ""
        elif name == "fldChar":
            self._note_field(attribute(item, "fldCharType") or "")

    def heard(self, text: str) -> str:
        """Note a text, and give it back."""
        if self._target:
            self._texts.append(text)
        return text

    def leave(self, name: str) -> None:
        """Note that an element ends."""
        if name in _LINKS:
            self._close()

    def _close(self) -> None:
        """End the link that is open."""
        text = " ".join("".join(self._texts).split())
        if self._target and text:
            self._links.append(Link(text, self._target))
        self._open("")

    def take(self) -> list[Link]:
        """Return the links of a paragraph that ends, and begin another."""
        self._close()
        links, self._links, self._code = self._links, [], ""
        return links

    def _note_field(self, kind: str) -> None:
        if kind == "begin":
            self._code = ""
        elif kind == "separate":
            if target := _target(self._code):
                self._open(target)
        elif kind == "end" and _target(self._code):
            self._close()
            self._code = ""

    def _open(self, target: str) -> None:
        self._target, self._texts = target, []


def _target(code: str) -> str:
    field = _FIELD.match(code)
    return field[1] if field else ""
