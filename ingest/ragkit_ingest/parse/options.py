"""Options of parsers: limits on one file, and the parts of it that are kept.

Values only; a parser process gets them with each file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from ragkit.settings.ingest_options import IngestOptions

# Arbitrary: some 8,000 pages of a book. What embeds a text takes about 20 bytes a character.
TEXT_CHARS: Final = 16_000_000
MAX_BLOCKS: Final = 500_000  # arbitrary: of 32 characters each, in the longest text
_LIMITS: Final = frozenset({"unzipped_bytes", "text_chars"})


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """One file's; `unzipped_bytes` is what a zip-based file may unpack to, `text_chars` how long
    the text of any file may be.

    The others are `ragkit.settings.ingest_options.IngestOptions`' of the same name, as far as they
    concern what is made of a file before it is cut.
    """

    unzipped_bytes: int = 256 << 20
    text_chars: int = TEXT_CHARS
    unicode: Literal["nfc", "nfkc", "none"] = "nfc"
    mask: str | None = None
    comments: Literal["drop", "keep"] = "drop"
    revisions: Literal["accepted", "original", "both"] = "accepted"
    ocr: Literal["auto", "off"] = "auto"
    pdf_layout: Literal["text", "docling"] = "text"

    def as_json(self) -> dict[str, Any]:
        """Return the options as JSON has them, by name."""
        return asdict(self)


def parse_options(options: IngestOptions, *, unzipped_bytes: int) -> ParseOptions:
    """Take from a collection's options what parsing needs to know."""
    shared = {field.name for field in fields(ParseOptions)} - _LIMITS
    values = {name: getattr(options, name) for name in shared}
    return ParseOptions(unzipped_bytes=unzipped_bytes, **values)


def read_options(values: Mapping[str, Any]) -> ParseOptions:
    """Make the options of what `as_json` gave."""
    return ParseOptions(**values)
