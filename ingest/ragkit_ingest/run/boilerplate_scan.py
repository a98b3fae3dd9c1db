"""Lines that repeat across a folder's files, found before anything is taken in.

Every file of a folder with changes is parsed once more for it, which costs little beside embedding.
It knows nothing of what counts as a repeated line.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Final

from ragkit.errors import IngestError
from ragkit_ingest.clean.boilerplate import LineCounts, line_marks
from ragkit_ingest.parse import MEDIA_TYPES

if TYPE_CHECKING:
    from ragkit.types import ParsedText
    from ragkit_ingest.parse.options import ParseOptions
    from ragkit_ingest.parser.pool import ParserPool
    from ragkit_ingest.sources.item import Item

_AHEAD: Final = 8  # files parsed at once, or waiting for it; arbitrary

Lines = dict[str, Collection[int]]  # by folder


def repeated_lines(
    items: Iterable[Item], parsers: ParserPool, options: ParseOptions, *, max_bytes: int
) -> Lines:
    """Map each folder to the marks of lines that repeat across its files.

    What cannot be read or parsed is passed over here: it fails when it is taken in.
    """
    counts: dict[str, LineCounts] = {}
    waiting: deque[tuple[str, Future[ParsedText]]] = deque()

    def count(folder: str, future: Future[ParsedText]) -> None:
        try:
            counts.setdefault(folder, LineCounts()).add(line_marks(future.result()))
        except IngestError:
            return

    for item in items:
        if item.suffix not in MEDIA_TYPES:
            continue
        try:
            data = item.read(max_bytes)
        except IngestError:
            continue
        waiting.append((folder_of(item.uri), parsers.submit(data, item.suffix, options)))
        if len(waiting) >= _AHEAD:
            count(*waiting.popleft())
    for folder, future in waiting:
        count(folder, future)
    found = {folder: counted.common() for folder, counted in counts.items()}
    return {folder: lines for folder, lines in found.items() if lines}


def folder_of(uri: str) -> str:
    """Return what a URI's file lies in.

    >>> folder_of("/docs/a.zip!/notes/b.md"), folder_of("/docs/rows.jsonl#17")
    ('/docs/a.zip!/notes', '/docs/rows.jsonl')
    """
    head, mark, _ = uri.partition("#")
    return head if mark else uri.rpartition("/")[0]
