"""Replace stretches of a canonical text; blocks and pages move with it, in one linear pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ragkit.types import Block, Page, ParsedText


@dataclass(frozen=True, slots=True)
class Edit:
    """Put `text` in the place of `[start, end)` of a text."""

    start: int
    end: int
    text: str = ""


def edited(parsed: ParsedText, edits: Sequence[Edit]) -> ParsedText:
    """Apply edits, in order and not overlapping, to a parsed text and what lies over it.

    A replacement belongs to the block in which its stretch begins. A block or page of which
    nothing but white space is left goes. Title, metadata and notes stay as they are.

    >>> edited(ParsedText("tel 123", (Block(4, 7, "paragraph"),)), [Edit(4, 7, "[PHONE]")]).blocks
    (Block(start=4, end=11, kind='paragraph', level=0),)
    """
    if not edits:
        return parsed
    text = replaced(parsed.text, edits)
    return replace(
        parsed,
        text=text,
        blocks=tuple(_blocks(parsed.blocks, edits, text)),
        pages=tuple(_pages(parsed, edits, text)),
    )


def replaced(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with the edits, which are in order and do not overlap."""
    pieces: list[str] = []
    done = 0
    for edit in edits:
        assert done <= edit.start <= edit.end <= len(text), "edits overlap, or are out of order"
        pieces += text[done : edit.start], edit.text
        done = edit.end
    return "".join([*pieces, text[done:]])


def _blocks(blocks: Sequence[Block], edits: Sequence[Edit], text: str) -> Iterator[Block]:
    ends = (offset for block in blocks for offset in (block.start, block.end))
    moved = _moved(ends, edits)
    for block, start, end in zip(blocks, moved, moved, strict=True):
        # Only a block that had text can have lost it; to look at each again would cost a pass.
        if (start, end) == (block.start, block.end) or text[start:end].strip():
            yield replace(block, start=start, end=end)


def _pages(parsed: ParsedText, edits: Sequence[Edit], text: str) -> Iterator[Page]:
    """Move the pages; one that was not empty and is now is left out."""
    starts = [page.start for page in parsed.pages]
    moved = list(_moved(iter(starts), edits))
    sizes = [end - start for start, end in pairwise([*starts, len(parsed.text)])]
    bounds = pairwise([*moved, len(text)])
    for page, size, (start, end) in zip(parsed.pages, sizes, bounds, strict=True):
        if start < end or not size:
            yield replace(page, start=start)


def _moved(offsets: Iterator[int], edits: Sequence[Edit]) -> Iterator[int]:
    """Yield where ascending offsets come to lie.

    One within a replaced stretch comes to lie after what replaces it.
    """
    passed, shift = 0, 0
    for offset in offsets:
        while passed < len(edits) and edits[passed].start < offset:
            edit = edits[passed]
            if offset < edit.end:
                break
            shift += len(edit.text) - (edit.end - edit.start)
            passed += 1
        if passed < len(edits) and edits[passed].start < offset:
            edit = edits[passed]
            yield edit.start + shift + len(edit.text)
        else:
            yield offset + shift
