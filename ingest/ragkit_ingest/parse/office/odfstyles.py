"""What an OpenDocument file's styles say about its text: which lists count, what is hidden,
which paragraph is the title."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragkit_ingest.parse.office.archive import attribute, child, children, local, number

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_TITLE = "Title"  # in every language; "Subtitle" is another


class Styles:
    """The automatic styles of a document's content."""

    def __init__(self, root: Element) -> None:
        self._ordered: set[tuple[str, int]] = set()  # list style, level
        self._hidden: set[str] = set()
        self._titles = {_TITLE}
        for style in children(root, "automatic-styles"):
            name = attribute(style, "name") or ""
            if local(style) == "list-style":
                self._ordered |= {
                    (name, number(attribute(level, "level"), 1))
                    for level in style
                    if local(level) == "list-level-style-number"
                    and attribute(level, "num-format") != ""
                }
            elif attribute(style, "parent-style-name") == _TITLE:
                self._titles.add(name)
            if attribute(child(style, "text-properties"), "display") == "none":
                self._hidden.add(name)

    def is_title(self, element: Element) -> bool:
        """Say whether a paragraph is what the whole document is called."""
        return local(element) == "p" and attribute(element, "style-name") in self._titles

    def is_ordered(self, name: str, level: int) -> bool:
        """Say whether a list's items are counted."""
        return (name, level) in self._ordered

    def hides(self, element: Element) -> bool:
        """Say whether an element is not shown."""
        if local(element) == "section" and attribute(element, "display") == "none":
            return True
        return bool(self._hidden) and attribute(element, "style-name") in self._hidden
