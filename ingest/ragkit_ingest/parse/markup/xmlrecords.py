"""Parse any XML as records: a paragraph per element with children, a line per leaf.

An element that stands amid its parent's text is part of that text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ragkit_ingest.parse.flow import Flow, collapse

_MAX_VALUE_CHARS = 500  # arbitrary; of an attribute


@dataclass(slots=True)
class _Element:
    label: str
    is_inline: bool = False
    is_leaf: bool = True
    is_silent: bool = True  # nothing in its attributes is worth a line of its own
    text: list[str] = field(default_factory=list)


class Records:
    """Takes elements and writes their paragraphs to a flow."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._open: list[_Element] = []
        self._lines: list[str] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """Open an element."""
        parent = self._open[-1] if self._open else None
        if parent is not None and (parent.is_inline or any(map(str.strip, parent.text))):
            self._open.append(_Element("", is_inline=True, text=parent.text))
            return
        if parent is not None and parent.is_leaf:
            self._close()  # what stood before belongs to another record
            parent.is_leaf = False
            self._say(parent)
        values = [
            f"{key.rpartition('}')[2]}: {' '.join(value.split())[:_MAX_VALUE_CHARS]}"
            for key, value in attributes.items()
            if value.strip() and not key.startswith("{http://www.w3.org/")
        ]
        label = f"{name} ({', '.join(values)})" if values else name
        self._open.append(_Element(label, is_silent=not values))

    def end(self) -> None:
        """Close the element that was opened last."""
        element = self._open.pop()
        if element.is_inline:
            return
        self._say(element)
        if not element.is_leaf:
            self._close()

    def text(self, text: str) -> None:
        """Take text of the open element."""
        self._open[-1].text.append(text)

    def _say(self, element: _Element) -> None:
        text = collapse("".join(element.text))
        element.text.clear()
        if text:
            self._lines.append(f"{element.label}: {text}")
        elif not element.is_silent:
            self._lines.append(element.label)
        element.is_silent = True

    def _close(self) -> None:
        self._flow.open("block")
        for line in self._lines:
            self._flow.text(line)
            self._flow.line_break()
        self._lines.clear()
        self._flow.close()
