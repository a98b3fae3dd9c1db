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
    ".md": ("text/markdown", "markdown"),
    ".markdown": ("text/markdown", "markdown"),
    ".html": ("text/html", "html"),
    ".htm": ("text/html", "html"),
    ".xhtml": ("text/html", "html"),
    ".pdf": ("application/pdf", "pdf"),
    ".docx": (f"{_OFFICE}.wordprocessingml.document", "docx"),
    ".pptx": (f"{_OFFICE}.presentationml.presentation", "pptx"),
    ".xlsx": (f"{_OFFICE}.spreadsheetml.sheet", "xlsx"),
    ".csv": ("text/csv", "delimited"),
    ".tsv": ("text/tab-separated-values", "delimited"),
    ".json": ("application/json", "records"),
    ".jsonl": ("application/x-ndjson", "records"),
}

MEDIA_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {suffix: media_type for suffix, (media_type, _) in _TABLE.items()}
)
MODULES: Final[Mapping[str, str]] = MappingProxyType(
    {suffix: module for suffix, (_, module) in _TABLE.items()}
)
# What files are unpacked from, each a file of its own; an e-mail has a text besides.
# suffix: module whose `members` yields them
CONTAINERS: Final[Mapping[str, str]] = MappingProxyType({})
