"""Which formats there are: what each suffix means, and the module that reads it.

A table to be read before any parser is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_OFFICE: Final = "application/vnd.openxmlformats-officedocument"
# suffix: media type, module of this package that parses it (loaded when the first such file comes)
_TABLE: Final = {
    ".txt": ("text/plain", "plain"),
    ".md": ("text/markdown", "markup.markdown"),
    ".markdown": ("text/markdown", "markup.markdown"),
    ".html": ("text/html", "html.page"),
    ".htm": ("text/html", "html.page"),
    ".xhtml": ("text/html", "html.page"),
    ".pdf": ("application/pdf", "pdf.document"),
    ".png": ("image/png", "image"),
    ".jpg": ("image/jpeg", "image"),
    ".jpeg": ("image/jpeg", "image"),
    ".tif": ("image/tiff", "image"),
    ".tiff": ("image/tiff", "image"),
    ".webp": ("image/webp", "image"),
    ".bmp": ("image/bmp", "image"),
    ".docx": (f"{_OFFICE}.wordprocessingml.document", "office.docx"),
    ".pptx": (f"{_OFFICE}.presentationml.presentation", "office.pptx"),
    ".xlsx": (f"{_OFFICE}.spreadsheetml.sheet", "office.xlsx"),
    ".csv": ("text/csv", "delimited"),
    ".tsv": ("text/tab-separated-values", "delimited"),
    ".json": ("application/json", "records"),
    ".jsonl": ("application/x-ndjson", "records"),
    ".xml": ("application/xml", "markup.xml"),
    ".epub": ("application/epub+zip", "epub"),
    ".ipynb": ("application/x-ipynb+json", "ipynb"),
    ".srt": ("application/x-subrip", "subtitles"),
    ".vtt": ("text/vtt", "subtitles"),
    ".rst": ("text/x-rst", "markup.rst"),
    ".adoc": ("text/asciidoc", "markup.asciidoc"),
    ".asciidoc": ("text/asciidoc", "markup.asciidoc"),
    ".org": ("text/org", "markup.org"),
    ".odt": ("application/vnd.oasis.opendocument.text", "office.odt"),
    ".ods": ("application/vnd.oasis.opendocument.spreadsheet", "office.odt"),
    ".odp": ("application/vnd.oasis.opendocument.presentation", "office.odt"),
    ".eml": ("message/rfc822", "mail.eml"),
    ".msg": ("application/vnd.ms-outlook", "mail.msg"),
    ".py": ("text/x-python", "code.python"),
    ".pyi": ("text/x-python", "code.python"),
    ".pyw": ("text/x-python", "code.python"),
    ".js": ("text/javascript", "code.javascript"),
    ".mjs": ("text/javascript", "code.javascript"),
    ".cjs": ("text/javascript", "code.javascript"),
    ".jsx": ("text/javascript", "code.javascript"),
    ".ts": ("text/x-typescript", "code.typescript"),
    ".mts": ("text/x-typescript", "code.typescript"),
    ".cts": ("text/x-typescript", "code.typescript"),
    ".tsx": ("text/x-typescript", "code.tsx"),
    ".java": ("text/x-java", "code.java"),
    ".c": ("text/x-c", "code.cfamily"),
    ".h": ("text/x-c", "code.cfamily"),
    ".cc": ("text/x-c++", "code.cfamily"),
    ".cpp": ("text/x-c++", "code.cfamily"),
    ".cxx": ("text/x-c++", "code.cfamily"),
    ".hh": ("text/x-c++", "code.cfamily"),
    ".hpp": ("text/x-c++", "code.cfamily"),
    ".hxx": ("text/x-c++", "code.cfamily"),
    ".cs": ("text/x-csharp", "code.csharp"),
    ".go": ("text/x-go", "code.go"),
    ".rs": ("text/x-rust", "code.rust"),
    ".rb": ("text/x-ruby", "code.ruby"),
    ".php": ("text/x-php", "code.php"),
    ".swift": ("text/x-swift", "code.swift"),
    ".kt": ("text/x-kotlin", "code.kotlin"),
    ".kts": ("text/x-kotlin", "code.kotlin"),
    ".scala": ("text/x-scala", "code.scala"),
    ".sh": ("text/x-shellscript", "code.shell"),
    ".bash": ("text/x-shellscript", "code.shell"),
    ".zsh": ("text/x-shellscript", "code.shell"),
    ".lua": ("text/x-lua", "code.lua"),
    ".sql": ("text/x-sql", "code.sql"),
    ".r": ("text/x-r", "code.other"),
    ".jl": ("text/x-julia", "code.other"),
    ".pl": ("text/x-perl", "code.other"),
    ".pm": ("text/x-perl", "code.other"),
    ".m": ("text/x-matlab", "code.other"),
    ".mm": ("text/x-objective-c", "code.other"),
    ".dart": ("text/x-dart", "code.other"),
    ".groovy": ("text/x-groovy", "code.other"),
    ".gradle": ("text/x-groovy", "code.other"),
    ".ps1": ("text/x-powershell", "code.other"),
    ".vb": ("text/x-vb", "code.other"),
    ".f90": ("text/x-fortran", "code.other"),
    ".ex": ("text/x-elixir", "code.other"),
    ".exs": ("text/x-elixir", "code.other"),
    ".zig": ("text/x-zig", "code.other"),
    ".yaml": ("application/yaml", "code.yaml"),
    ".yml": ("application/yaml", "code.yaml"),
    ".toml": ("application/toml", "code.settings"),
    ".ini": ("text/x-ini", "code.settings"),
    ".cfg": ("text/x-ini", "code.settings"),
    ".conf": ("text/x-ini", "code.settings"),
    ".properties": ("text/x-java-properties", "code.settings"),
    ".css": ("text/css", "code.stylesheet"),
    ".scss": ("text/x-scss", "code.stylesheet"),
    ".less": ("text/x-less", "code.stylesheet"),
    ".rtf": ("application/rtf", "refused"),
    ".doc": ("application/msword", "refused"),
    ".dot": ("application/msword", "refused"),
    ".xls": ("application/vnd.ms-excel", "refused"),
    ".ppt": ("application/vnd.ms-powerpoint", "refused"),
    ".pps": ("application/vnd.ms-powerpoint", "refused"),
    ".docm": ("application/vnd.ms-word.document.macroEnabled.12", "office.docx"),
    ".dotx": (f"{_OFFICE}.wordprocessingml.template", "office.docx"),
    ".xlsm": ("application/vnd.ms-excel.sheet.macroEnabled.12", "office.xlsx"),
    ".xltx": (f"{_OFFICE}.spreadsheetml.template", "office.xlsx"),
    ".pptm": ("application/vnd.ms-powerpoint.presentation.macroEnabled.12", "office.pptx"),
    ".ppsx": (f"{_OFFICE}.presentationml.slideshow", "office.pptx"),
    ".potx": (f"{_OFFICE}.presentationml.template", "office.pptx"),
}

MEDIA_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {suffix: media_type for suffix, (media_type, _) in _TABLE.items()}
)
MODULES: Final[Mapping[str, str]] = MappingProxyType(
    {suffix: module for suffix, (_, module) in _TABLE.items()}
)
# What files are unpacked from, each a file of its own; an e-mail has a text besides.
# suffix: module whose `members` yields them
CONTAINERS: Final[Mapping[str, str]] = MappingProxyType(
    {".zip": "zip", ".eml": "mail.eml", ".msg": "mail.msg"}
)
