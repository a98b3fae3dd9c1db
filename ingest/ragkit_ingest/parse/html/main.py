"""Choose the main content from a page's blocks; what frames it, or stands between it, is left out.

Nothing goes unless a text that is worth reading is left, so that a page of links stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragkit_ingest.parse.content import Piece
from ragkit_ingest.parse.html.boxes import Boxes
from ragkit_ingest.parse.html.furniture import without_furniture
from ragkit_ingest.parse.html.phrases import asks_for_cookies
from ragkit_ingest.parse.html.pictures import without_pictures
from ragkit_ingest.parse.html.regions import ARTICLE, FRAME, HEADER, MAIN
from ragkit_ingest.parse.html.weights import is_prose, weight

# Arbitrary, tried on documentation, news and shop pages: what a text has at least.
_MIN_TEXT_CHARS = 100


def main_content(pieces: Sequence[Piece], boxes: Boxes, title: str = "") -> list[Piece]:
    """Return the blocks of the main content, in order; all of them if there is none to be told.

    `title` is what the page is called.
    """
    pieces = [
        piece for piece in without_pictures(pieces) if not asks_for_cookies(piece.text)
    ] or list(pieces)
    inside = [piece for piece in pieces if not _is_framed(piece)]
    if _count_chars(inside) < _MIN_TEXT_CHARS:
        return pieces
    return without_furniture(_author_region(inside), boxes, title)


def _author_region(inside: Sequence[Piece]) -> list[Piece]:
    """Take what the page's author names as its main content, if most of the text stands there."""
    for name in (MAIN, ARTICLE):
        chosen = [piece for piece in inside if name in piece.place.regions]
        if _count_chars(chosen) >= max(_MIN_TEXT_CHARS, _count_chars(inside) / 2):
            return _with(name, inside)
    return list(inside)


def _with(name: str, inside: Sequence[Piece]) -> list[Piece]:
    """Take a region, and the page's title where it stands outside of it.

    Of articles there can be several, with text of the page's own between them.
    """
    has_title = any(_is_title(piece) for piece in inside if name in piece.place.regions)
    return [
        piece
        for piece in inside
        if name in piece.place.regions
        or (_is_title(piece) and not has_title)
        or (name == ARTICLE and is_prose(piece))
    ]


def _is_framed(piece: Piece) -> bool:
    regions = piece.place.regions
    if HEADER in regions and FRAME not in regions:
        return not _is_title(piece)
    return FRAME in regions


def _is_title(piece: Piece) -> bool:
    return piece.kind == "heading" and piece.number == 1


def _count_chars(pieces: Sequence[Piece]) -> int:
    """Count the characters that are not links; Chinese ones twice."""
    return sum(weight(piece) for piece in pieces)
