"""What is left alone though its format is known, and why: pictures that lie among other files.

It knows nothing of where things lie or of who counts them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ragkit.errors import IngestError
from ragkit_ingest.parse.formats import MODULES

_MAX_DRAWING_BYTES: Final = 64 << 20  # arbitrary

if TYPE_CHECKING:
    from ragkit.settings.ingest_options import IngestOptions
    from ragkit_ingest.sources.item import Item


def passed_over(item: Item, options: IngestOptions) -> str:
    """Say why a file is skipped; nothing where it is not.

    A folder's pictures are mostly not what it is about. Who names one wants to know: it fails.
    """
    if not item.found:
        return ""
    if item.suffix == ".svg":
        return "" if _has_text(item) else "a drawing without text"
    if MODULES.get(item.suffix) not in {"image", "heic"}:
        return ""
    from ragkit_ingest.parse import ocr

    return ocr.refusal(options.ocr, many=True)


def _has_text(item: Item) -> bool:
    """Say whether a drawing may have text in it; icons, which are many, have none."""
    try:
        data = item.read(_MAX_DRAWING_BYTES)
    except IngestError:
        return True  # and reading it will say why it fails
    return any(mark in data for mark in (b"<text", b":text", b"<foreignObject", b"\x1f\x8b"))
