"""What is left alone though its format is known, and why: pictures that lie among other files.

It knows nothing of where things lie or of who counts them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragkit_ingest.parse import MEDIA_TYPES

if TYPE_CHECKING:
    from ragkit.settings.ingest_options import IngestOptions
    from ragkit_ingest.sources.item import Item


def passed_over(item: Item, options: IngestOptions) -> str:
    """Say why a file is skipped; nothing where it is not.

    A folder's pictures are mostly not what it is about. Who names one wants to know: it fails.
    """
    if not item.found or not MEDIA_TYPES.get(item.suffix, "").startswith("image/"):
        return ""
    from ragkit_ingest.parse import ocr

    return ocr.refusal(options.ocr, many=True)
