"""Parse files of old Word (.doc), which LibreOffice converts to .docx first."""

from __future__ import annotations

from ragkit.types import ParsedText
from ragkit_ingest.parse.office import docx, renamed
from ragkit_ingest.parse.office.conversion import converted
from ragkit_ingest.parse.options import ParseOptions


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse a file. Raises IngestError without LibreOffice, and for what it cannot read."""
    if not data.startswith(renamed.OLE):
        return renamed.parse(data, options, kind="Word", today=".docx")
    return docx.parse(converted(data, ".docx"), options)
