"""What kinds of files are called on the page: PDF, Word, picture; by media type or suffix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ragkit.documents.formats import MEDIA_TYPES

# By beginnings of media types; the first that fits counts.
_TYPES: Final = (
    ("application/pdf", "pdf"),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml", "word"),
    ("application/vnd.ms-word", "word"),
    ("application/msword", "word"),
    ("application/vnd.oasis.opendocument.text", "word"),
    ("application/vnd.openxmlformats-officedocument.spreadsheetml", "excel"),
    ("application/vnd.ms-excel", "excel"),
    ("application/vnd.oasis.opendocument.spreadsheet", "excel"),
    ("text/csv", "excel"),
    ("text/tab-separated-values", "excel"),
    ("application/vnd.openxmlformats-officedocument.presentationml", "slides"),
    ("application/vnd.ms-powerpoint", "slides"),
    ("application/vnd.oasis.opendocument.presentation", "slides"),
    ("text/markdown", "markdown"),
    ("text/html", "web"),
    ("image/", "picture"),
    ("message/rfc822", "mail"),
    ("application/vnd.ms-outlook", "mail"),
    ("application/epub+zip", "book"),
    ("application/x-subrip", "subtitles"),
    ("text/vtt", "subtitles"),
    ("application/zip", "archive"),
    ("application/json", "data"),
    ("application/x-ndjson", "data"),
    ("application/xml", "data"),
    ("application/yaml", "data"),
    ("application/toml", "data"),
    ("text/x-ini", "data"),
    ("text/plain", "text"),
    ("text/x-rst", "text"),
    ("text/asciidoc", "text"),
    ("text/org", "text"),
    ("application/x-ipynb", "code"),
    ("text/x-", "code"),
    ("text/javascript", "code"),
    ("text/css", "code"),
)
_BY_SUFFIX: Final = {**MEDIA_TYPES, ".zip": "application/zip"}


def type_of(kind: str) -> str:
    """Return the word's key for a media type or a suffix.

    >>> type_of("application/pdf"), type_of(".docx"), type_of("")
    ('type_pdf', 'type_word', 'type_other')
    """
    media_type = _BY_SUFFIX.get(kind, kind)
    return "type_" + next(
        (name for begins, name in _TYPES if media_type.startswith(begins)), "other"
    )


def ranks(words: Mapping[str, str]) -> dict[str, int]:
    """Rank all media types and suffixes by what they are called; equal names share a rank."""
    kinds = {*_BY_SUFFIX, *_BY_SUFFIX.values()}
    called = {kind: words[type_of(kind)] for kind in kinds}
    order = sorted(set(called.values()))
    return {kind: order.index(name) for kind, name in called.items()}
