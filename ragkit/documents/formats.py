"""File formats: the media type of each suffix, which are read, which an upload accepts.

The one list of suffixes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final

OFFICE: Final = "application/vnd.openxmlformats-officedocument"
_READ: Final = {
    ".txt": "text/plain",
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "text/html",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
    ".webp": "image/webp",
    ".bmp": "image/bmp",
    ".docx": f"{OFFICE}.wordprocessingml.document",
    ".pptx": f"{OFFICE}.presentationml.presentation",
    ".xlsx": f"{OFFICE}.spreadsheetml.sheet",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".json": "application/json",
    ".jsonl": "application/x-ndjson",
    ".xml": "application/xml",
    ".epub": "application/epub+zip",
    ".ipynb": "application/x-ipynb+json",
    ".srt": "application/x-subrip",
    ".vtt": "text/vtt",
    ".rst": "text/x-rst",
    ".adoc": "text/asciidoc",
    ".asciidoc": "text/asciidoc",
    ".org": "text/org",
    ".odt": "application/vnd.oasis.opendocument.text",
    ".ods": "application/vnd.oasis.opendocument.spreadsheet",
    ".odp": "application/vnd.oasis.opendocument.presentation",
    ".eml": "message/rfc822",
    ".msg": "application/vnd.ms-outlook",
    ".py": "text/x-python",
    ".pyi": "text/x-python",
    ".pyw": "text/x-python",
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".cjs": "text/javascript",
    ".jsx": "text/javascript",
    ".ts": "text/x-typescript",
    ".mts": "text/x-typescript",
    ".cts": "text/x-typescript",
    ".tsx": "text/x-typescript",
    ".java": "text/x-java",
    ".c": "text/x-c",
    ".h": "text/x-c",
    ".cc": "text/x-c++",
    ".cpp": "text/x-c++",
    ".cxx": "text/x-c++",
    ".hh": "text/x-c++",
    ".hpp": "text/x-c++",
    ".hxx": "text/x-c++",
    ".cs": "text/x-csharp",
    ".go": "text/x-go",
    ".rs": "text/x-rust",
    ".rb": "text/x-ruby",
    ".php": "text/x-php",
    ".swift": "text/x-swift",
    ".kt": "text/x-kotlin",
    ".kts": "text/x-kotlin",
    ".scala": "text/x-scala",
    ".sh": "text/x-shellscript",
    ".bash": "text/x-shellscript",
    ".zsh": "text/x-shellscript",
    ".lua": "text/x-lua",
    ".sql": "text/x-sql",
    ".r": "text/x-r",
    ".jl": "text/x-julia",
    ".pl": "text/x-perl",
    ".pm": "text/x-perl",
    ".m": "text/x-matlab",
    ".mm": "text/x-objective-c",
    ".dart": "text/x-dart",
    ".groovy": "text/x-groovy",
    ".gradle": "text/x-groovy",
    ".ps1": "text/x-powershell",
    ".vb": "text/x-vb",
    ".f90": "text/x-fortran",
    ".ex": "text/x-elixir",
    ".exs": "text/x-elixir",
    ".zig": "text/x-zig",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".toml": "application/toml",
    ".ini": "text/x-ini",
    ".cfg": "text/x-ini",
    ".conf": "text/x-ini",
    ".properties": "text/x-java-properties",
    ".css": "text/css",
    ".scss": "text/x-scss",
    ".less": "text/x-less",
    ".docm": "application/vnd.ms-word.document.macroEnabled.12",
    ".dotx": f"{OFFICE}.wordprocessingml.template",
    ".xlsm": "application/vnd.ms-excel.sheet.macroEnabled.12",
    ".xltx": f"{OFFICE}.spreadsheetml.template",
    ".pptm": "application/vnd.ms-powerpoint.presentation.macroEnabled.12",
    ".ppsx": f"{OFFICE}.presentationml.slideshow",
    ".potx": f"{OFFICE}.presentationml.template",
}
# Known, and refused with a remedy.
_REFUSED: Final = {
    ".rtf": "application/rtf",
    ".doc": "application/msword",
    ".dot": "application/msword",
    ".xls": "application/vnd.ms-excel",
    ".ppt": "application/vnd.ms-powerpoint",
    ".pps": "application/vnd.ms-powerpoint",
}

MEDIA_TYPES: Final[Mapping[str, str]] = MappingProxyType(_READ | _REFUSED)
# What files are unpacked from, each a file of its own. A mail, which is among the media types, has
# a text besides.
CONTAINERS: Final = frozenset({".zip", ".eml", ".msg"})
UPLOADED: Final = tuple(dict.fromkeys((*_READ, *sorted(CONTAINERS))))  # what an upload takes


def refusal(name: str) -> str:
    """Say why a file of this name cannot be uploaded; "" where it can.

    >>> refusal("Leave.PDF"), refusal("figures.svg")[:37]
    ('', "'figures.svg' cannot be read: .svg is")
    """
    suffix = PurePosixPath(name).suffix.lower()
    if suffix in UPLOADED:
        return ""
    remedy = "save it as .docx, .xlsx or .pptx, or" if suffix in _REFUSED else "send it as"
    return (
        f"{name[:100]!r} cannot be read: {suffix or 'no extension'} is none of the formats that"
        f" are; {remedy} one of {', '.join(UPLOADED)}"
    )
