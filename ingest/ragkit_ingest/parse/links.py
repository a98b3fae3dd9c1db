"""Where links of a document lead, written into its text; one form for HTML, Word and Excel.

It knows no format, and follows no link.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from urllib.parse import unquote, urlsplit

MAX_TARGET_CHARS = 200  # arbitrary; longer ones lose what tracks their readers, or are left out
_MAX_TARGETS = 5  # of one block; arbitrary
_MAX_NAME_CHARS = 80  # of a link's text; a longer one is no name, and stands there already
_MAX_TRIED = 50  # links of one block; arbitrary
_MAX_SEEN = 2000  # targets of one document; arbitrary
_WEB = ("http", "https")


@dataclass(frozen=True, slots=True)
class Link:
    """A text that is a link, and where it leads."""

    text: str
    target: str


def shown_target(target: str) -> str:
    """Return a target as readers can use it outside of its document, or "".

    Only addresses of the web and of mail can be used: no relative ones, and no places in the
    document itself.

    >>> shown_target("mailto:help@example.org?subject=Leave"), shown_target("../leave.html#days")
    ('help@example.org', '')
    """
    line = target.strip()
    if not line.isprintable() or " " in line:
        return ""
    scheme, _, address = line.partition(":")
    if scheme.lower() == "mailto":
        address = unquote(address.partition("?")[0])
        return address if "@" in address and len(address) <= MAX_TARGET_CHARS else ""
    try:
        parts = urlsplit(line)
        has_login = parts.username is not None
    except ValueError:
        return ""
    if parts.scheme.lower() not in _WEB or not parts.hostname or has_login:
        return ""
    if len(line) > MAX_TARGET_CHARS:
        line = f"{parts.scheme}://{parts.netloc}{parts.path}"
    return line if len(line) <= MAX_TARGET_CHARS else ""


class Targets:
    """The targets that a document has shown already; each stands once in it."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def written(self, text: str, links: Iterable[Link]) -> str:
        """Return a block or a cell with what its links lead to.

        The targets stand at its end, after the link's text and in brackets; where the link is all
        of the text, after it. Answers quote sentences of a text, and citations are checked against
        it: an address within a sentence, as Markdown has it, would have to be quoted too, and
        would keep apart words that a question has side by side. A text that is its own target
        gets no other.

        >>> Targets().written("Use the form.", [Link("form", "https://example.org/f")])
        'Use the form. (form: https://example.org/f)'
        >>> Targets().written("Form", [Link("Form", "https://example.org/f")])
        'Form (https://example.org/f)'
        """
        notes = self._unseen(text, links)
        if not notes:
            return text
        if len(notes) == 1 and notes[0].text == text.strip():
            return f"{text.rstrip()} ({notes[0].target})"
        named = (f"{note.text}: {note.target}" if note.text else note.target for note in notes)
        return f"{text.rstrip()} ({'; '.join(named)})"

    def _unseen(self, text: str, links: Iterable[Link]) -> Sequence[Link]:
        notes: list[Link] = []
        for link in islice(links, _MAX_TRIED):
            target = shown_target(link.target)
            if not target or target in self._seen or len(notes) == _MAX_TARGETS:
                continue
            if len(self._seen) < _MAX_SEEN and not _says(text, target):
                self._seen.add(target)
                name = " ".join(link.text.split())
                notes.append(Link(name if len(name) <= _MAX_NAME_CHARS else "", target))
        return notes


def _says(text: str, target: str) -> bool:
    """Say whether a text has an address in it, perhaps without what a browser adds."""
    bare = target.partition("://")[2] or target
    return bare.removeprefix("www.").rstrip("/").lower() in text.lower()
