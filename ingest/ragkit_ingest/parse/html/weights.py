"""How much a block says: its characters outside of links, and whether they are running text."""

from __future__ import annotations

import re

from ragkit.text.analyse import CJK
from ragkit_ingest.parse.content import Piece

PROSE = 80  # weight of a paragraph of running text; buttons, bylines and teasers weigh less
_MOSTLY_LINKS = 0.75  # arbitrary, tried on documentation, news and shop pages
_MIN_LINKS = 3
_MIN_LINKS_OF_CELL = 2  # on average, with the cells that name the lists
_CJK = re.compile(f"[{CJK}]")


def weight(piece: Piece) -> int:
    """Count the characters of a piece that are not links; Chinese ones, which say more, twice."""
    plain = piece.place.plain
    if not plain or piece.text.isascii():
        return plain
    return plain + min(plain, len(_CJK.findall(piece.text)))


def is_prose(piece: Piece) -> bool:
    """Say whether a block is running text, or something that no menu has."""
    if piece.kind == "code":
        return True
    if piece.kind == "table":
        return not (is_links(piece) and _has_lists(piece))
    return weight(piece) >= PROSE


def _has_lists(piece: Piece) -> bool:
    """Say whether a table's cells hold several links each, as no table of data has."""
    cells = sum(cell != "" for row in piece.rows for cell in row)
    return len(piece.rows) <= 1 or piece.place.links >= _MIN_LINKS_OF_CELL * cells


def is_links(piece: Piece) -> bool:
    """Say whether a block is nearly nothing but several links."""
    return are_links(piece.place.links, piece.place.linked, piece.place.plain)


def are_links(links: int, linked: int, plain: int) -> bool:
    """Say whether so many links, characters in them and outside of them are a menu."""
    return links >= _MIN_LINKS and linked >= _MOSTLY_LINKS * (linked + plain)
