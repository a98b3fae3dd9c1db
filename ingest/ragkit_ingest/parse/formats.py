"""Which module reads which format; the suffixes themselves stand in `ragkit.formats`.

A table to be read before any parser is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ragkit.formats import CONTAINERS as SUFFIXES_OF_CONTAINERS
from ragkit.formats import MEDIA_TYPES, OFFICE

# media type: module of this package that parses it (loaded when the first such file comes)
_TABLE: Final = {
    "text/plain": "plain",
    "text/markdown": "markup.markdown",
    "text/html": "html.page",
    "application/pdf": "pdf.document",
    "image/png": "image",
    "image/jpeg": "image",
    "image/tiff": "image",
    "image/webp": "image",
    "image/bmp": "image",
    f"{OFFICE}.wordprocessingml.document": "office.docx",
    f"{OFFICE}.presentationml.presentation": "office.pptx",
    f"{OFFICE}.spreadsheetml.sheet": "office.xlsx",
    "text/csv": "delimited",
    "text/tab-separated-values": "delimited",
    "application/json": "records",
    "application/x-ndjson": "records",
    "application/xml": "markup.xml",
    "application/epub+zip": "epub",
    "application/x-ipynb+json": "ipynb",
    "application/x-subrip": "subtitles",
    "text/vtt": "subtitles",
    "text/x-rst": "markup.rst",
    "text/asciidoc": "markup.asciidoc",
    "text/org": "markup.org",
    "application/vnd.oasis.opendocument.text": "office.odt",
    "application/vnd.oasis.opendocument.spreadsheet": "office.odt",
    "application/vnd.oasis.opendocument.presentation": "office.odt",
    "message/rfc822": "mail.eml",
    "application/vnd.ms-outlook": "mail.msg",
    "text/x-python": "code.python",
    "text/javascript": "code.javascript",
    "text/x-typescript": "code.typescript",
    "text/x-java": "code.java",
    "text/x-c": "code.cfamily",
    "text/x-c++": "code.cfamily",
    "text/x-csharp": "code.csharp",
    "text/x-go": "code.go",
    "text/x-rust": "code.rust",
    "text/x-ruby": "code.ruby",
    "text/x-php": "code.php",
    "text/x-swift": "code.swift",
    "text/x-kotlin": "code.kotlin",
    "text/x-scala": "code.scala",
    "text/x-shellscript": "code.shell",
    "text/x-lua": "code.lua",
    "text/x-sql": "code.sql",
    "text/x-r": "code.other",
    "text/x-julia": "code.other",
    "text/x-perl": "code.other",
    "text/x-matlab": "code.other",
    "text/x-objective-c": "code.other",
    "text/x-dart": "code.other",
    "text/x-groovy": "code.other",
    "text/x-powershell": "code.other",
    "text/x-vb": "code.other",
    "text/x-fortran": "code.other",
    "text/x-elixir": "code.other",
    "text/x-zig": "code.other",
    "application/yaml": "code.yaml",
    "application/toml": "code.settings",
    "text/x-ini": "code.settings",
    "text/x-java-properties": "code.settings",
    "text/css": "code.stylesheet",
    "text/x-scss": "code.stylesheet",
    "text/x-less": "code.stylesheet",
    "application/rtf": "refused",
    "application/msword": "refused",
    "application/vnd.ms-excel": "refused",
    "application/vnd.ms-powerpoint": "refused",
    "application/vnd.ms-word.document.macroEnabled.12": "office.docx",
    f"{OFFICE}.wordprocessingml.template": "office.docx",
    "application/vnd.ms-excel.sheet.macroEnabled.12": "office.xlsx",
    f"{OFFICE}.spreadsheetml.template": "office.xlsx",
    "application/vnd.ms-powerpoint.presentation.macroEnabled.12": "office.pptx",
    f"{OFFICE}.presentationml.slideshow": "office.pptx",
    f"{OFFICE}.presentationml.template": "office.pptx",
}
_OWN: Final = {".tsx": "code.tsx"}  # suffixes with the media type of others

MODULES: Final[Mapping[str, str]] = MappingProxyType(
    {suffix: _TABLE[media_type] for suffix, media_type in MEDIA_TYPES.items()} | _OWN
)
# suffix: module whose `members` yields the files that a container holds
_MEMBERS: Final = {".zip": "zip", ".eml": "mail.eml", ".msg": "mail.msg"}
CONTAINERS: Final[Mapping[str, str]] = MappingProxyType(
    {suffix: _MEMBERS[suffix] for suffix in sorted(SUFFIXES_OF_CONTAINERS)}
)
