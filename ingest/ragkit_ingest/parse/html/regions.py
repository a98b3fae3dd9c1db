"""Which part of a page an element is: its main content, an article, or what frames every page of a
site (navigation, banners, sidebars, share buttons).

Told by tags, roles, and a few names that sites give such parts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from ragkit_ingest.parse.content import Place

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


class Regions:
    """The regions that stand open around each element that is being read, and the links."""

    def __init__(self) -> None:
        self._open: list[frozenset[str]] = [frozenset()]
        self._links = 0
        self._linked = 0  # characters of links since the last place was asked for

    def enter(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Note that an element begins; it must have an end."""
        self._links += tag == "a"
        self._open.append(_region(tag, attributes, self._open[-1]))

    def leave(self, tag: str) -> None:
        """Note that an element ends."""
        if tag == "a":
            self._links = max(0, self._links - 1)
        if len(self._open) > 1:
            self._open.pop()

    def count_text(self, chars: int) -> None:
        """Note that there was text."""
        if self._links:
            self._linked += chars

    def place(self) -> Place:
        """Tell where the text since the last time stands."""
        linked, self._linked = self._linked, 0
        return Place(self._open[-1], linked)


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
        if tag in _NAMED and _names(attributes) & _NAMES:
            region = FRAME
    return outer | {region} if region and region not in outer else outer


def _names(attributes: Mapping[str, str]) -> set[str]:
    text = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
    return set(re.sub("_", "-", text[:_MAX_NAME_CHARS].lower()).split())
