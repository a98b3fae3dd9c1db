"""From a file's bytes to canonical text with structure: one parser per format, chosen by suffix.

A parser is a function from bytes to ParsedText. It reads nothing but those bytes, and knows nothing
of where they come from, of chunks, or of the limits that the process around it holds.
"""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

from ragkit.errors import IngestError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ragkit.types import ParsedText

_OFFICE = "application/vnd.openxmlformats-officedocument"
# suffix: media type, module of this package that parses it (loaded when the first such file comes)
_FORMATS = {
    ".txt": ("text/plain", "plain"),
    ".md": ("text/markdown", "markdown"),
    ".markdown": ("text/markdown", "markdown"),
    ".html": ("text/html", "html"),
    ".htm": ("text/html", "html"),
    ".pdf": ("application/pdf", "pdf"),
    ".docx": (f"{_OFFICE}.wordprocessingml.document", "docx"),
    ".pptx": (f"{_OFFICE}.presentationml.presentation", "pptx"),
    ".xlsx": (f"{_OFFICE}.spreadsheetml.sheet", "xlsx"),
    ".csv": ("text/csv", "delimited"),
    ".tsv": ("text/tab-separated-values", "delimited"),
    ".json": ("application/json", "records"),
    ".jsonl": ("application/x-ndjson", "records"),
}
_ARCHIVES = frozenset({".docx", ".pptx", ".xlsx"})

MEDIA_TYPES: Mapping[str, str] = MappingProxyType(
    {suffix: media_type for suffix, (media_type, _) in _FORMATS.items()}
)


def parse_bytes(data: bytes, suffix: str, *, unzipped_budget: int) -> ParsedText:
    """Parse a file of a supported suffix (in any case) into canonical text with structure.

    `unzipped_budget` is how many bytes a zip-based file may unpack to. Raises
    IngestError("parse", reason) for a file that cannot be read or has no text in it.
    """
    known = suffix.lower()
    if known not in _FORMATS:
        raise IngestError("parse", f"no parser for {suffix or 'a file without a suffix'}")
    if not data:
        raise IngestError("parse", "the file is empty (0 bytes)")
    parser = import_module(f"{__name__}.{_FORMATS[known][1]}")
    parse: Callable[..., ParsedText] = parser.parse
    parsed = parse(data, unzipped_budget) if known in _ARCHIVES else parse(data)
    if not parsed.text.strip("\ufeff\ufffd \t\n\r\f\v\xa0\u3000") or parsed.text.isspace():
        raise IngestError("parse", getattr(parser, "NO_TEXT", "the file is empty: no text in it"))
    return parsed
