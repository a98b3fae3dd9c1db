"""Refuse formats that are recognised but not parsed, with the remedy."""

from __future__ import annotations

from typing import NoReturn

from ragkit.errors import IngestError
from ragkit_ingest.parse.options import ParseOptions

_REASONS = (
    (b"{\\rtf", "a Rich Text file", ".docx"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old binary Office file", ".docx, .xlsx or .pptx"),
)


def parse(data: bytes, options: ParseOptions) -> NoReturn:
    """Raise IngestError with the remedy."""
    for magic, kind, instead in _REASONS:
        if data.startswith(magic):
            raise IngestError(
                "parse", f"{kind}: open it in Word or LibreOffice and save it as {instead}"
            )
    raise IngestError("parse", "neither a Rich Text nor an old Office file, as its name says")
