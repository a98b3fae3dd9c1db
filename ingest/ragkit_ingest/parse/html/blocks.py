"""A page's blocks, weighed: how much running text each has, and summed over the page's boxes.

Which of them are furniture is furniture.py's to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from ragkit_ingest.parse.content import Piece
from ragkit_ingest.parse.html.boxes import Boxes
from ragkit_ingest.parse.html.weights import PROSE, is_prose, weight


@dataclass(frozen=True, slots=True)
class Block:
    """A piece with the box that it stands in, and what it weighs."""

    piece: Piece
    box: int
    weight: int
    is_prose: bool

    @property
    def prose(self) -> int:
        return self.weight if self.is_prose else 0


def weigh_blocks(pieces: Sequence[Piece]) -> list[Block]:
    """Weigh pieces; the items of a list that is no menu are together a running text."""
    blocks: list[Block] = []
    for is_list, group in groupby(pieces, key=lambda piece: piece.kind == "item"):
        run = list(group)
        linked = sum(piece.place.linked for piece in run) if is_list else 0
        weights = [weight(piece) for piece in run]
        is_text = is_list and sum(weights) >= max(PROSE, 2 * linked)
        blocks += (
            Block(piece, piece.place.box, chars, is_text or is_prose(piece))
            for piece, chars in zip(run, weights, strict=True)
        )
    return blocks


def without_boxed(blocks: list[Block], boxes: set[int], most: float) -> list[Block]:
    """Drop all blocks in these boxes, unless they hold more running text than that, or all."""
    chosen = [block for block in blocks if block.box not in boxes]
    total = sum(block.prose for block in blocks)
    return chosen if sum(block.prose for block in chosen) >= max(total - most, 1) else blocks


def sum_prose(blocks: Iterable[Block], boxes: Boxes) -> list[int]:
    return boxes.sum((block.box, block.prose) for block in blocks)
