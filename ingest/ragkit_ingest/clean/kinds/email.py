"""Find e-mail addresses by the text on both sides of an @.

A stretch never reaches over another @, so that the whole is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ragkit.types import Span

_MAX_LOCAL_CHARS = 64  # RFC 5321, 4.5.3.1.1
# Latin, Greek and Cyrillic letters. Chinese ones are the sentence around the address.
_LETTER = r"A-Za-z\u00c0-\u024f\u0370-\u03ff\u0400-\u04ff"
# Markdown may have a backslash before a character that it would else read as a sign, @ included.
_LOCAL = re.compile(rf"(?:[0-9{_LETTER}._%+'&-]|\\(?=[._+-])){{1,{_MAX_LOCAL_CHARS}}}\\?\Z")
_DOMAIN = re.compile(
    rf"@((?:[0-9{_LETTER}](?:[0-9{_LETTER}-]{{0,62}}+)\.){{1,8}})([{_LETTER}]{{2,24}}+)(?![0-9_])"
)
_EDGES = ".'&%-_\\"  # no address begins with them; text before one may end so
# Endings of file names and packages that are no top-level domains.
_NO_DOMAIN: Final = frozenset("png jpg jpeg gif svg webp css html htm js json txt pdf xml".split())
_VERSION = re.compile(r"\d+\.\d|\dx\.")  # package@1.2.0-rc.next, icon@2x.big


def find(text: str) -> Iterator[Span]:
    """Yield the addresses of a text."""
    at = text.find("@")
    done = 0
    while at >= 0:
        domain = _DOMAIN.match(text, at)
        local = _local(text, max(done, at - _MAX_LOCAL_CHARS), at) if domain else ""
        if domain and local and _is_address(text, local, domain):
            yield Span(at - len(local), domain.end())
            done = domain.end()
        at = text.find("@", at + 1)


def _local(text: str, start: int, at: int) -> str:
    match = _LOCAL.search(text[start:at])
    return match.group().lstrip(_EDGES) if match else ""


def _is_address(text: str, local: str, domain: re.Match[str]) -> bool:
    if domain.group(2).lower() in _NO_DOMAIN or _VERSION.match(domain.group(1)):
        return False
    # A repository's remote, git@host:path, names nobody.
    return not (local == "git" and text[domain.end() : domain.end() + 1] in {":", "/"})
