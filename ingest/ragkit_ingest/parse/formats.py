"""Formats: the module that parses each media type, known before any parser is loaded.

`ragkit.documents.formats` has the suffixes.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ragkit.documents.formats import CONTAINERS as SUFFIXES_OF_CONTAINERS
from ragkit.documents.formats import MEDIA_TYPES, OFFICE

# media type: module of this package that parses it (loaded when the first such file comes), or of
# source code the table of languages and the name in it
_TABLE: Final = {
    "text/plain": "plain",
    "application/x-tex": "markup.tex",
    "text/markdown": "markup.markdown",
    "text/html": "html.page",
    "multipart/related": "mail.mhtml",
    "application/pdf": "pdf.document",
    "image/png": "image",
    "image/jpeg": "image",
    "image/tiff": "image",
    "image/webp": "image",
    "image/bmp": "image",
    "image/heic": "heic",
    "image/svg+xml": "markup.svg",
    f"{OFFICE}.wordprocessingml.document": "office.docx",
    f"{OFFICE}.presentationml.presentation": "office.pptx",
    f"{OFFICE}.spreadsheetml.sheet": "office.xlsx",
    "text/csv": "delimited",
    "text/tab-separated-values": "delimited",
    "application/json": "records",
    "application/x-ndjson": "records",
    "application/geo+json": "records",
    "application/xml": "markup.xml",
    "text/calendar": "events",
    "text/vcard": "contacts",
    "application/epub+zip": "epub",
    "application/x-fictionbook+xml": "fictionbook",
    "application/x-ipynb+json": "ipynb",
    "application/x-subrip": "subtitles",
    "text/vtt": "subtitles",
    "text/x-rst": "markup.rst",
    "text/asciidoc": "markup.asciidoc",
    "text/org": "markup.org",
    "application/vnd.oasis.opendocument.text": "office.odt",
    "application/vnd.oasis.opendocument.spreadsheet": "office.odt",
    "application/vnd.oasis.opendocument.presentation": "office.odt",
    "application/vnd.oasis.opendocument.text-flat-xml": "office.odt",
    "application/vnd.oasis.opendocument.spreadsheet-flat-xml": "office.odt",
    "application/vnd.oasis.opendocument.presentation-flat-xml": "office.odt",
    "message/rfc822": "mail.eml",
    "application/vnd.ms-outlook": "mail.msg",
    "text/x-python": "code.languages:python",
    "text/javascript": "code.languages:javascript",
    "text/x-typescript": "code.languages:typescript",
    "text/x-java": "code.languages:java",
    "text/x-c": "code.languages:c",
    "text/x-c++": "code.languages:c",
    "text/x-csharp": "code.languages:csharp",
    "text/x-go": "code.languages:go",
    "text/x-rust": "code.languages:rust",
    "text/x-ruby": "code.languages:ruby",
    "text/x-php": "code.languages:php",
    "text/x-swift": "code.languages:swift",
    "text/x-kotlin": "code.languages:kotlin",
    "text/x-scala": "code.languages:scala",
    "text/x-shellscript": "code.languages:shell",
    "text/x-makefile": "code.languages:make",
    "text/x-dockerfile": "code.languages:dockerfile",
    "text/x-lua": "code.languages:lua",
    "text/x-sql": "code.languages:sql",
    "text/x-r": "code.languages:other",
    "text/x-julia": "code.languages:other",
    "text/x-perl": "code.languages:other",
    "text/x-matlab": "code.languages:other",
    "text/x-objective-c": "code.languages:other",
    "text/x-dart": "code.languages:other",
    "text/x-groovy": "code.languages:other",
    "text/x-powershell": "code.languages:other",
    "text/x-vb": "code.languages:other",
    "text/x-fortran": "code.languages:other",
    "text/x-elixir": "code.languages:other",
    "text/x-zig": "code.languages:other",
    "application/yaml": "code.languages:yaml",
    "application/toml": "code.languages:sections",
    "text/x-ini": "code.languages:sections",
    "text/x-java-properties": "code.languages:sections",
    "text/css": "code.languages:stylesheet",
    "text/x-scss": "code.languages:stylesheet",
    "text/x-less": "code.languages:stylesheet",
    "application/rtf": "office.rtf",
    "application/msword": "office.doc",
    "application/vnd.ms-excel": "office.xls",
    "application/vnd.ms-excel.sheet.binary.macroEnabled.12": "office.xls",
    "application/vnd.ms-powerpoint": "office.ppt",
    "application/vnd.ms-word.document.macroEnabled.12": "office.docx",
    f"{OFFICE}.wordprocessingml.template": "office.docx",
    "application/vnd.ms-excel.sheet.macroEnabled.12": "office.xlsx",
    f"{OFFICE}.spreadsheetml.template": "office.xlsx",
    "application/vnd.ms-powerpoint.presentation.macroEnabled.12": "office.pptx",
    f"{OFFICE}.presentationml.slideshow": "office.pptx",
    f"{OFFICE}.presentationml.template": "office.pptx",
}
_SUFFIXES: Final = {".tsx": "code.languages:tsx"}  # the media type is TypeScript's

MODULES: Final[Mapping[str, str]] = MappingProxyType(
    {suffix: _TABLE[media_type] for suffix, media_type in MEDIA_TYPES.items()} | _SUFFIXES
)
# suffix: module whose `members` yields the files that a container holds
_MEMBERS: Final = {
    ".zip": "zip",
    ".eml": "mail.eml",
    ".msg": "mail.msg",
    ".mbox": "mail.mbox",
    ".7z": "sevenzip",
}
CONTAINERS: Final[Mapping[str, str]] = MappingProxyType(
    {suffix: _MEMBERS.get(suffix, "tar") for suffix in sorted(SUFFIXES_OF_CONTAINERS)}
)
