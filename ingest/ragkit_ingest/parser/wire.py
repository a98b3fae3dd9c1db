"""Wire format between a parser process and its pool: a little JSON, and parts of bytes.

Text and blocks are parts, since JSON takes many times their memory. A process that parsed a hostile
file is not to be believed: everything is bounded and checked.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Final, get_args

from ragkit.text.normalise import clean, is_clean
from ragkit.types import Block, BlockKind, Page, ParsedText
from ragkit_ingest.parse.options import MAX_BLOCKS

if TYPE_CHECKING:
    from ragkit_ingest.parser.spool import Part

MAX_SAID_BYTES: Final = 16 << 20  # arbitrary: names of 20,000 members, labels of 100,000 pages
_KINDS: Final[tuple[BlockKind, ...]] = get_args(BlockKind)
_NUMBERS: Final = {kind: number for number, kind in enumerate(_KINDS)}
_BYTES_PER_CHAR: Final = 4  # at most, in UTF-8
_FIELDS: Final = 4  # of a block: start, end, kind, level
_FIELD_BYTES: Final = 8

Answer = tuple[dict[str, Any], list[bytes]]


def told(parsed: ParsedText) -> Answer:
    """Make an answer of a parsed text."""
    blocks = parsed.blocks
    numbers = array("q", bytes(_FIELDS * _FIELD_BYTES * len(blocks)))
    numbers[0::_FIELDS] = array("q", [block.start for block in blocks])
    numbers[1::_FIELDS] = array("q", [block.end for block in blocks])
    numbers[2::_FIELDS] = array("q", [_NUMBERS[block.kind] for block in blocks])
    numbers[3::_FIELDS] = array("q", [block.level for block in blocks])
    parts = [parsed.text.encode(), numbers.tobytes()]
    return {
        "parts": [len(part) for part in parts],
        "pages": [[page.start, page.number, page.label] for page in parsed.pages],
        "title": parsed.title,
        "metadata": dict(parsed.metadata),
        "notes": dict(parsed.notes),
    }, parts


def told_members(members: Sequence[tuple[str, bytes]]) -> Answer:
    """Make an answer of the files in a container."""
    parts = [content for _, content in members]
    return {"parts": [len(part) for part in parts], "names": [name for name, _ in members]}, parts


def most_bytes(text_chars: int) -> int:
    """Say how large the parts of a parsed text can be."""
    return text_chars * _BYTES_PER_CHAR + MAX_BLOCKS * _FIELDS * _FIELD_BYTES


def parts_in(data: bytes, lengths: Sequence[int]) -> list[bytes]:
    """Cut bytes into parts of these lengths."""
    ends = [0, *accumulate(lengths)]
    return [data[start:end] for start, end in pairwise(ends)]


def sizes(fields: Mapping[str, Any], total: int) -> list[int]:
    """Read how large each part is. Raises ValueError or TypeError where that makes no sense."""
    found = [_whole(size) for size in fields.get("parts", [])]
    if min(found, default=0) < 0 or sum(found) != total:
        raise ValueError("parts are not as large as they are said to be")
    return found


def members(fields: Mapping[str, Any], parts: Sequence[Part]) -> list[tuple[str, Part]]:
    """Make files of an answer. Raises ValueError or TypeError where it makes no sense."""
    names = [clean(str(name)) for name in fields["names"]]
    return list(zip(names, parts, strict=True))


def parsed_text(fields: Mapping[str, Any], parts: Sequence[bytes]) -> ParsedText:
    """Make a parsed text of an answer. Raises ValueError or TypeError where it makes no sense."""
    written, numbers = parts
    text, title = written.decode(), fields["title"]
    if not isinstance(title, str) or not is_clean(text):
        raise TypeError("text and title must be clean strings")
    blocks = _blocks(numbers, len(text))
    pages = tuple(
        Page(_whole(start), _whole(number), clean(str(label)))
        for start, number, label in fields["pages"]
    )
    starts = [page.start for page in pages]
    if starts != sorted(starts) or (starts and not 0 <= starts[0] <= starts[-1] <= len(text)):
        raise ValueError("pages are out of place")
    metadata = {clean(str(key)): clean(str(value)) for key, value in fields["metadata"].items()}
    notes = {clean(str(kind)): _whole(count) for kind, count in fields["notes"].items()}
    return ParsedText(text, blocks, pages, clean(title), metadata, notes)


def _blocks(numbers: bytes, size: int) -> tuple[Block, ...]:
    import numpy as np

    starts, ends, kinds, levels = np.frombuffer(numbers, np.int64).reshape(-1, _FIELDS).T
    is_right = (starts <= ends) & (kinds >= 0) & (kinds < len(_KINDS))
    if not is_right.all() or (np.diff(np.stack([starts, ends], 1).ravel(), prepend=0) < 0).any():
        raise ValueError("a block is out of place, or of no kind")
    if ends.max(initial=0) > size:
        raise ValueError("a block is out of place")
    kind = (_KINDS[number] for number in kinds.tolist())
    return tuple(map(Block, starts.tolist(), ends.tolist(), kind, levels.tolist()))


def _whole(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is no whole number")
    return value
