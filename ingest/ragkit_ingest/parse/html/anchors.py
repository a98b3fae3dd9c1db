"""The links in a page's text that lead to other sites; those to the site itself are its menus."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from ragkit_ingest.parse.links import Link

# A saved page has its site's address in every link.
_MAX_LINKS = 10  # to one host; arbitrary: to more lead a site's own pages
_HREF = re.compile(r"""<a\s[^<>]{0,500}?href\s*=\s*["']?https?://([^/"'\s>?#]{1,255})""", re.I)
_HOST = re.compile(r"\s*https?://([^/?#\s]{1,255})", re.I)
_SCHEMES = ("http:", "https:", "mailto:")
_SHARE = re.compile(r"/(?:sharer|share|intent/tweet|submit|pin/create)\b[^?#]{0,200}\?", re.I)
_MAX_HREF_CHARS = 2000  # arbitrary
_MAX_HREFS = 10_000  # arbitrary


def site_hosts(page: str) -> set[str]:
    """Return the hosts that so many links lead to that they are the page's own site."""
    hosts: Counter[str] = Counter()
    for number, match in enumerate(_HREF.finditer(page)):
        if number >= _MAX_HREFS:
            break
        hosts[match[1].lower()] += 1
    return {host for host, count in hosts.items() if count > _MAX_LINKS}


class Anchors:
    """The links of the block that is being read."""

    def __init__(self, hosts: set[str]) -> None:
        self._hosts = hosts
        self._links: list[Link] = []
        self._target = ""  # of the link that is open, "" for none that is shown
        self._start = 0  # where its text begins

    def note_site(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Note the page's own site, where a tag in its head names it."""
        if tag == "base" or "canonical" in (attributes.get("rel") or "").lower().split():
            self._hosts |= {_host(attributes.get("href") or "")} - {""}

    def open(self, href: str, start: int) -> None:
        """Note that a link begins, with the number of pieces of text before it in its block."""
        is_shown = href.lstrip()[:7].lower().startswith(_SCHEMES) and not self._is_of_page(href)
        self._target = href if is_shown else ""
        self._start = start

    def _is_of_page(self, href: str) -> bool:
        """Say whether a link leads to the page's own site, or only passes the page on."""
        return _host(href) in self._hosts or bool(_SHARE.search(href, 0, _MAX_HREF_CHARS))

    def close(self, inline: Sequence[str]) -> None:
        """Note that a link ends; `inline` are all pieces of text of its block."""
        if self._target:
            text = " ".join("".join(inline[self._start :]).replace("\x00", " ").split())
            if text:
                self._links.append(Link(text, self._target))
            self._target = ""

    def take(self, inline: Sequence[str]) -> list[Link]:
        """Return the links of a block that ends, and begin another."""
        target = self._target
        self.close(inline)
        links, self._links = self._links, []
        self._target, self._start = ("" if links else target), 0
        return links


def _host(target: str) -> str:
    match = _HOST.match(target)
    return match[1].lower() if match else ""
