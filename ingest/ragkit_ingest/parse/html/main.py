"""Choose the main content from a page's blocks; navigation around it is left out.

Nothing goes unless a text that is worth reading is left, so that a page of links stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragkit_ingest.parse.content import Piece
from ragkit_ingest.parse.html.regions import ARTICLE, FRAME, HEADER, MAIN

# Arbitrary, tried on documentation, news and shop pages: what a text has at least.
_MIN_TEXT_CHARS = 100
_PROSE_CHARS = 80  # a paragraph of running text; buttons, bylines and teasers are shorter
_MOSTLY_LINKS = 0.8
_MIN_RUN = 3  # blocks of links that follow each other: a menu


def main_content(pieces: Sequence[Piece]) -> list[Piece]:
    """Return the blocks of the main content, in order; all of them if there is none to be told."""
    inside = [piece for piece in pieces if not _is_framed(piece)]
    if _count_chars(inside) < _MIN_TEXT_CHARS:
        return list(pieces)
    for name in (MAIN, ARTICLE):
        chosen = [piece for piece in inside if name in piece.place.regions]
        # The author's own word, unless most of the text stands elsewhere.
        if _count_chars(chosen) >= max(_MIN_TEXT_CHARS, _count_chars(inside) / 2):
            return _with(name, inside)
    return _without_menus(inside)


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
        or (name == ARTICLE and _is_prose(piece))
    ]


def _without_menus(inside: Sequence[Piece]) -> list[Piece]:
    """Drop runs of links at the page's edges, before its first heading or text and after its last
    text; what stands under a heading of its own stays."""
    body = [place for place, piece in enumerate(inside) if _is_prose(piece)]
    heads = [place for place, piece in enumerate(inside) if piece.kind == "heading"]
    if not body:
        return list(inside)
    first, last = min([*heads[:1], body[0]]), max([*heads[-1:], body[-1]])
    top, bottom = inside[:first], inside[last + 1 :]
    if heads and heads[-1] == last:
        bottom = []
    dropped = {id(piece) for part in (top, bottom) if _is_menu(part) for piece in part}
    return [piece for piece in inside if id(piece) not in dropped]


def _is_menu(part: Sequence[Piece]) -> bool:
    size = sum(piece.size for piece in part)
    return len(part) >= _MIN_RUN and sum(_linked(piece) for piece in part) >= _MOSTLY_LINKS * size


def _is_framed(piece: Piece) -> bool:
    regions = piece.place.regions
    if HEADER in regions and FRAME not in regions:
        return not _is_title(piece)
    return FRAME in regions


def _is_title(piece: Piece) -> bool:
    return piece.kind == "heading" and piece.number == 1


def _is_prose(piece: Piece) -> bool:
    """Say whether a block is running text, or something that no menu has."""
    if piece.kind in {"code", "table"}:
        return True
    return piece.size - _linked(piece) >= _PROSE_CHARS


def _linked(piece: Piece) -> int:
    return min(piece.place.linked, piece.size)


def _count_chars(pieces: Sequence[Piece]) -> int:
    """Count the characters that are not links."""
    return sum(piece.size - _linked(piece) for piece in pieces)
