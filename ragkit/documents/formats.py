"""File formats: kind and media type of each suffix, which are read, which an upload accepts.

The one list of suffixes.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

OFFICE: Final = "application/vnd.openxmlformats-officedocument"
# What a kind of files is called, by the keys of the words of pages: its suffixes and their media
# types. Of suffixes of one media type the usual one comes first.
_READ: Final[dict[str, dict[str, str]]] = {
    "text": {
        ".txt": "text/plain",
        ".text": "text/plain",
        ".log": "text/plain",
        ".rst": "text/x-rst",
        ".adoc": "text/asciidoc",
        ".asciidoc": "text/asciidoc",
        ".org": "text/org",
        ".tex": "application/x-tex",
    },
    "markdown": {
        ".md": "text/markdown",
        ".markdown": "text/markdown",
    },
    "web": {
        ".html": "text/html",
        ".htm": "text/html",
        ".xhtml": "text/html",
        ".mht": "multipart/related",
        ".mhtml": "multipart/related",
    },
    "pdf": {
        ".pdf": "application/pdf",
    },
    "picture": {
        ".png": "image/png",
        ".jpg": "image/jpeg",
        ".jpeg": "image/jpeg",
        ".tif": "image/tiff",
        ".tiff": "image/tiff",
        ".webp": "image/webp",
        ".bmp": "image/bmp",
        ".heic": "image/heic",
        ".heif": "image/heic",
        ".svg": "image/svg+xml",
    },
    "word": {
        ".docx": f"{OFFICE}.wordprocessingml.document",
        ".odt": "application/vnd.oasis.opendocument.text",
        ".fodt": "application/vnd.oasis.opendocument.text-flat-xml",
        ".rtf": "application/rtf",
        ".doc": "application/msword",
        ".dot": "application/msword",
        ".docm": "application/vnd.ms-word.document.macroEnabled.12",
        ".dotx": f"{OFFICE}.wordprocessingml.template",
    },
    "slides": {
        ".pptx": f"{OFFICE}.presentationml.presentation",
        ".odp": "application/vnd.oasis.opendocument.presentation",
        ".fodp": "application/vnd.oasis.opendocument.presentation-flat-xml",
        ".pptm": "application/vnd.ms-powerpoint.presentation.macroEnabled.12",
        ".ppsx": f"{OFFICE}.presentationml.slideshow",
        ".potx": f"{OFFICE}.presentationml.template",
        ".ppt": "application/vnd.ms-powerpoint",
        ".pps": "application/vnd.ms-powerpoint",
    },
    "excel": {
        ".xlsx": f"{OFFICE}.spreadsheetml.sheet",
        ".csv": "text/csv",
        ".tsv": "text/tab-separated-values",
        ".tab": "text/tab-separated-values",
        ".ods": "application/vnd.oasis.opendocument.spreadsheet",
        ".fods": "application/vnd.oasis.opendocument.spreadsheet-flat-xml",
        ".xlsm": "application/vnd.ms-excel.sheet.macroEnabled.12",
        ".xltx": f"{OFFICE}.spreadsheetml.template",
        ".xls": "application/vnd.ms-excel",
        ".xlsb": "application/vnd.ms-excel.sheet.binary.macroEnabled.12",
    },
    "data": {
        ".json": "application/json",
        ".jsonl": "application/x-ndjson",
        ".ndjson": "application/x-ndjson",
        ".geojson": "application/geo+json",
        ".xml": "application/xml",
        ".ics": "text/calendar",
        ".vcf": "text/vcard",
        ".yaml": "application/yaml",
        ".yml": "application/yaml",
        ".toml": "application/toml",
        ".ini": "text/x-ini",
        ".cfg": "text/x-ini",
        ".conf": "text/x-ini",
    },
    "book": {
        ".epub": "application/epub+zip",
        ".fb2": "application/x-fictionbook+xml",
    },
    "subtitles": {
        ".srt": "application/x-subrip",
        ".vtt": "text/vtt",
    },
    "mail": {
        ".eml": "message/rfc822",
        ".msg": "application/vnd.ms-outlook",
    },
    "code": {
        ".ipynb": "application/x-ipynb+json",
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
        ".mk": "text/x-makefile",
        ".dockerfile": "text/x-dockerfile",
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
        ".properties": "text/x-java-properties",
        ".css": "text/css",
        ".scss": "text/x-scss",
        ".less": "text/x-less",
    },
}
# What files are unpacked from, each a file of its own. A mail, which is among the media types, has
# a text besides.
_TARS: Final = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
ARCHIVES: Final = frozenset({".zip", ".7z", *_TARS})
CONTAINERS: Final = ARCHIVES | {".eml", ".msg", ".mbox"}

MEDIA_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {suffix: media_type for types in _READ.values() for suffix, media_type in types.items()}
)
# The kind of each suffix, and of each media type.
KINDS: Final[Mapping[str, str]] = MappingProxyType(
    {name: kind for kind, types in _READ.items() for pair in types.items() for name in pair}
    | dict.fromkeys((*sorted(ARCHIVES), "application/zip"), "archive")
    | {".mbox": "mail"}
)
UPLOADED: Final = tuple(dict.fromkeys((*MEDIA_TYPES, *sorted(CONTAINERS))))  # what an upload takes
# What to do with a file of a format that is known and not read.
REMEDIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys((".rar", ".zst"), "pack what is in it anew as .zip"),
        **dict.fromkeys((".gz", ".bz2", ".xz"), "unpack it"),
        **dict.fromkeys((".pages", ".wpd", ".wps"), "save it as .docx"),
        ".numbers": "save it as .xlsx",
    }
)
_COMPRESSED: Final = frozenset({".gz", ".bz2", ".xz"})  # of an archive, with the suffix before it


def suffix_of(name: str) -> str:
    """Return a name's suffix in lower case; that of a packed archive has two parts.

    >>> suffix_of("Report.PDF"), suffix_of(".notes.md"), suffix_of("README")
    ('.pdf', '.md', '')
    >>> suffix_of("a/Papers.2026.tar.GZ"), suffix_of("notes.txt.gz")
    ('.tar.gz', '.gz')
    """
    stem, dot, ending = name.rpartition("/")[2].rpartition(".")
    if not dot or not stem.strip("."):
        return ""
    suffix = f".{ending.lower()}"
    if suffix in _COMPRESSED and stem.lower().endswith(".tar") and stem[:-4].strip("."):
        return f".tar{suffix}"
    return suffix


def refusal(name: str) -> str:
    """Say why a file of this name cannot be uploaded; "" where it can.

    >>> refusal("Leave.PDF"), refusal("figures.dwg")[:37]
    ('', "'figures.dwg' cannot be read: .dwg is")
    """
    suffix = suffix_of(name)
    if suffix in UPLOADED:
        return ""
    remedy = f"{REMEDIES[suffix]}, or send it as" if suffix in REMEDIES else "send it as"
    return (
        f"{name[:100]!r} cannot be read: {suffix or 'no extension'} is none of the formats that"
        f" are; {remedy} one of {', '.join(UPLOADED)}"
    )
