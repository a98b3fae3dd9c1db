"""Parse files of old PowerPoint (.ppt), which LibreOffice converts to .pptx first."""

from __future__ import annotations

from ragkit.types import ParsedText
from ragkit_ingest.parse.office import pptx, renamed
from ragkit_ingest.parse.office.conversion import converted
from ragkit_ingest.parse.options import ParseOptions


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse a file. Raises IngestError without LibreOffice, and for what it cannot read."""
    if not data.startswith(renamed.OLE):
        return renamed.parse(data, options, kind="PowerPoint", today=".pptx")
    return pptx.parse(converted(data, ".pptx"), options)
