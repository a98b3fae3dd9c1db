"""Match a document with a name: its URI, an end of that, its file's name, its title, or a part.

`ragkit.store.documents.names` does the same in a database.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Final

from ragkit.text.variants import fold_variants

URI, FILE, STEM, TITLE, END, PART = range(6)  # how well a name fits, the best first
FOLDERS: Final = "^.*[/:]"  # before a file's name; for PostgreSQL as well, as the next
EXTENSION: Final = r"\.[^./:]*$"
MAX_CLOSE: Final = 3
_CLOSE: Final = 0.6  # of difflib's ratio; its own default for close matches
_BARE: Final = re.compile(f"{FOLDERS}|{EXTENSION[:-1]}\\Z", re.DOTALL)


def fit(uri: str, name: str) -> int | None:
    """Tell how well a name fits a file: `URI`, `FILE`, `STEM`, `END`; None: not at all.

    >>> [fit("upload:en/leave.md", name) for name in ("leave.md", "leave", "ave.md", "leaf")]
    [1, 2, 4, None]
    """
    if uri == name:
        return URI
    bare = name.removeprefix("/")
    if uri.endswith(("/" + bare, ":" + bare)):
        return FILE
    if stem(uri) == name:
        return STEM
    return END if uri.endswith(name) else None


def fit_document(uri: str, title: str, name: str) -> int | None:
    """Tell how well a name fits a document, by its title as well, or by a part of either.

    >>> [fit_document("en/leave.md", "Days off", name) for name in ("leave", "days off", "off")]
    [2, 3, 5]
    """
    file = fit(uri, name)
    if file is not None and file < TITLE:
        return file
    part = name.lower()
    if title.lower() == part:
        return TITLE
    if file is not None:
        return file
    return PART if part in title.lower() or part in uri.lower() else None


def stem(uri: str) -> str:
    """Return a file's name without folders and extension.

    >>> stem("upload:en/leave.v2.md")
    'leave.v2'
    """
    return _BARE.sub("", uri)


def closest(name: str, uris: Iterable[str]) -> list[str]:
    """List the few URIs whose file's name is most like this, the closest first.

    >>> closest("leavs.md", ["en/leave.md", "en/travel.md"])
    ['en/leave.md']
    """
    matcher = SequenceMatcher(b=fold_variants(stem(name).casefold()), autojunk=False)

    def like(uri: str) -> float:
        matcher.set_seq1(fold_variants(stem(uri).casefold()))
        return matcher.ratio() if matcher.quick_ratio() >= _CLOSE else 0.0

    scored = sorted((-like(uri), uri) for uri in set(uris))
    return [uri for score, uri in scored if -score >= _CLOSE][:MAX_CLOSE]
