"""The boxes of a page: its block elements as a tree, and what their names say of them.

A box is a number, 0 the page; the one that it stands in has a smaller number. No text is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

BOXES = frozenset(
    "article aside blockquote body center dd details div dl fieldset figure footer form header li"
    " main menu nav ol p section summary table td th ul".split()
)
_UNNAMED = frozenset({"li", "td", "th", "dd"})  # what they are called says what is in them
_LISTS = frozenset({"ul", "ol", "table"})
# Words in classes and ids of what stands around or between a page's text. Such a word alone proves
# nothing, which is why furniture.py looks at the text as well.
_KINDS = {
    "comments": frozenset("comment comments respond disqus replies".split()),
    "notices": frozenset("cookie cookies consent gdpr footer".split()),
    "furniture": frozenset(
        "sidebar sidebars sphinxsidebar related recommended recommendations recirc recirculation"
        " sponsored adverts advertisement advertising ad ads adsense"
        " outbrain taboola trending mostread noprint hatnote navbox catlinks printfooter"
        " modal popup newsletter newsletters subscribe subscription signup ambox"
        " signature".split()
    ),
    # Those of links only: in German a teaser can be a text's first paragraph.
    "teasers": frozenset("teaser teasers promo promos promotion carousel".split()),
    # Buttons and short lines only.
    "buttons": frozenset(
        "share sharing sharebar social sociable tags topics breadcrumb breadcrumbs nav navbar"
        " navigation toolbar pagination pager tagcloud copyright login follow skip jump toc".split()
    ),
}
_FIELDS = "fields"  # forms that ask for an address or a password
# "has-sidebar" is a page with everything.
_STATES = tuple(
    word + end for word in "has with no is page category tag".split() for end in ("-", "_")
)
_QUOTED = frozenset({"embed", "embedded"})  # a post of another site, which the text shows
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_MAX_NAME_CHARS = 1000  # arbitrary


class Boxes:
    """The boxes of a page as they are met; `named` are those whose names say what they are."""

    def __init__(self) -> None:
        self.parents = [0]
        self._lists: set[int] = set()
        self.named: dict[str, set[int]] = {kind: set() for kind in (*_KINDS, _FIELDS)}
        self._forms: set[int] = set()

    def add(self, tag: str, attributes: Mapping[str, str], parent: int) -> int:
        """Note a box and return its number."""
        box = len(self.parents)
        self.parents.append(parent)
        if tag in _LISTS:
            self._lists.add(box)
        if tag == "form":
            self._forms.add(box)
        for name in ("class", "id") if attributes and tag not in _UNNAMED else ():
            for word in (attributes.get(name) or "")[:_MAX_NAME_CHARS].split():
                kind = _kind(word)
                if kind:
                    self.named[kind].add(box)
        return box

    def note_field(self, box: int) -> None:
        """Note that readers enter who they are in a box: it names the form around it."""
        while box and box not in self._forms:
            box = self.parents[box]
        self.named[_FIELDS] |= {box} - {0}

    def continues(self, box: int, previous: int) -> bool:
        """Say whether a box is a list that stands side by side with the one before it."""
        return box in self._lists and self.parents[box] in {previous, self.parents[previous]}

    def spread(self, boxes: Iterable[int]) -> set[int]:
        """Return these boxes and all that stand in them."""
        spread = set(boxes)
        if spread:
            for box, parent in enumerate(self.parents):
                if parent in spread:
                    spread.add(box)
        return spread

    def sum(self, values: Iterable[tuple[int, int]]) -> list[int]:
        """Sum values, each given with its box, over what stands in every box."""
        sums = [0] * len(self.parents)
        for box, value in values:
            sums[box] += value
        for box in range(len(sums) - 1, 0, -1):
            if sums[box]:
                sums[self.parents[box]] += sums[box]
        return sums


@lru_cache(maxsize=4096)
def _kind(name: str) -> str:
    """Say what a class or id tells of its box; "" for nothing."""
    if name.startswith(_STATES):
        return ""
    words = {word.lower() for word in _WORD.findall(name)}
    if not words.isdisjoint(_QUOTED):
        return ""
    return next((kind for kind, names in _KINDS.items() if words & names), "")
