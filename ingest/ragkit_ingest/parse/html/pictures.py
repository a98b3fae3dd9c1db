"""Leave out what stands for a picture and says nothing new: its caption's words, or a file's name.

A piece is a picture's where no character of it was text: all of it is a description.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragkit_ingest.parse.content import Piece

_WORD = re.compile(r"\w+")
# A file's name, and what cameras call theirs.
_FILE = re.compile(
    r"\S{1,200}\.(?:jpe?g|png|gif|webp|svg|bmp|tiff?|avif)|(?:img|dscn?|screenshot)?[-_ ]?\d{3,20}",
    re.IGNORECASE,
)
_NEAR = 2  # blocks from a picture to its caption; a number can stand between them


def without_pictures(pieces: Sequence[Piece]) -> list[Piece]:
    """Drop what stands for a picture where its caption, or a picture before it, says the same."""
    chosen: list[Piece] = []
    seen: set[str] = set()
    for place, piece in enumerate(pieces):
        is_picture = piece.text != "" and not piece.place.plain and not piece.place.linked
        words = _words(piece.text) if is_picture or piece.kind == "heading" else ""
        if is_picture and words:
            beside = (_words(other.text) for other in pieces[place + 1 : place + 1 + _NEAR])
            if (
                words in seen
                or any(words in text for text in beside)
                or _FILE.fullmatch(piece.text)
            ):
                continue
        seen.add(words)
        chosen.append(piece)
    return chosen


def _words(text: str) -> str:
    """Return the words of a text as they compare: marks and letter case make no difference."""
    return " ".join(_WORD.findall(text.lower()))
