"""Which part of a page an element is: its main content, an article, or what frames every page of a
site (navigation, banners, sidebars, share buttons).

Told by tags, roles, and a few names that sites give such parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from ragkit_ingest.parse.content import Place
from ragkit_ingest.parse.html.boxes import BOXES, Boxes

MAIN: Final = "main"
ARTICLE: Final = "article"
FRAME: Final = "frame"
HEADER: Final = "header"  # a frame that often holds the page's own title

_ROLES = {
    "main": MAIN,
    "article": ARTICLE,
    "navigation": FRAME,
    "banner": HEADER,
    "contentinfo": FRAME,
    "complementary": FRAME,
    "search": FRAME,
    "menu": FRAME,
    "menubar": FRAME,
}
_TAGS = {"main": MAIN, "article": ARTICLE, "nav": FRAME, "search": FRAME, "menu": ""}
# Of an article or a section these are parts like any other.
_OUTER = {"header": HEADER, "footer": FRAME, "aside": FRAME}
_INNER = frozenset({MAIN, ARTICLE})
# Whole class names and ids. Words in them will not do: "has-sidebar" is a page with everything.
_NAMES = frozenset(
    "sidebar side-bar left-sidebar right-sidebar sidebar-left sidebar-right page-sidebar navbar"
    " nav-bar site-nav main-nav breadcrumb breadcrumbs site-footer page-footer skip-link"
    " share-bar share-buttons social-share social-links share-links sharedaddy addtoany-container"
    " cookie-bar cookie-banner cookie-notice cookie-consent cookie-popup cookie-law-info-bar"
    " cookiebanner cookieconsent cookie-consent-banner gdpr-banner gdpr-notice consent-banner"
    " onetrust-consent-sdk onetrust-banner-sdk cc-window newsletter-popup".split()
)
_NAMED = frozenset("div section ul ol form p span td details".split())
_MAX_NAME_CHARS = 1000  # arbitrary
_PERSONAL = frozenset({"email", "password"})
_LINKS = frozenset({"a", "button"})
_SEPARATORS = " \t\r\n\xa0|/·•‹›«»<>→←,;:-–—[](){}"


class Regions:
    """The regions and boxes that stand open around each element that is being read, and its links.

    `boxes` are all boxes of the page.
    """

    def __init__(self) -> None:
        self.boxes = Boxes()
        self._open: list[tuple[frozenset[str], int]] = [(frozenset(), 0)]
        self._links = 0  # links that are open
        # Since the last place: characters outside of links and in them, links, those to languages.
        self._counted = [0, 0, 0, 0]

    def enter(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Note that an element begins; it must have an end."""
        if tag in _LINKS:
            self._links += 1
            self._counted[2] += 1
            self._counted[3] += "hreflang" in attributes or "lang" in attributes
        regions, box = self._open[-1]
        if tag in BOXES:
            box = self.boxes.add(tag, attributes, box)
        self._open.append((_region(tag, attributes, regions), box))

    def leave(self, tag: str) -> None:
        """Note that an element ends."""
        if tag in _LINKS:
            self._links = max(0, self._links - 1)
        if len(self._open) > 1:
            self._open.pop()

    def note_input(self, attributes: Mapping[str, str]) -> None:
        """Note a field of a form; those that ask for an address or a password tell what it is."""
        if (attributes.get("type") or "").lower() in _PERSONAL:
            self.boxes.note_field(self._open[-1][1])

    def count_text(self, text: str) -> None:
        """Note a text; what only sets links apart does not count."""
        if size := len(text.strip(_SEPARATORS)):
            self._counted[self._links > 0] += size

    def place(self) -> Place:
        """Tell where the text since the last time stands."""
        plain, linked, links, languages = self._counted
        self._counted = [0, 0, 0, 0]
        regions, box = self._open[-1]
        return Place(regions, linked, plain, links, languages, box)


def _region(tag: str, attributes: Mapping[str, str], outer: frozenset[str]) -> frozenset[str]:
    """Return the regions that stand open inside an element; `outer` are those around it."""
    if "epub:type" in attributes:
        return outer  # a book's notes and lists are parts of it
    region = _TAGS.get(tag, "")
    if tag in _OUTER and not outer & _INNER:
        region = _OUTER[tag]
    if attributes:
        role = (attributes.get("role") or "").strip().lower()
        region = _ROLES.get(role, region)
        if tag in _NAMED and _is_named(attributes):
            region = FRAME
    return outer | {region} if region and region not in outer else outer


def _is_named(attributes: Mapping[str, str]) -> bool:
    text = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
    return text != " " and _is_frame_name(text[:_MAX_NAME_CHARS])


@lru_cache(maxsize=4096)
def _is_frame_name(text: str) -> bool:
    return not _NAMES.isdisjoint(text.replace("_", "-").lower().split())
