"""What a parser is told besides the bytes: how much a file may unpack to, and what to keep of it.

Values only; a parser process gets them with each file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ragkit.ingest_options import IngestOptions


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """One file's; `unzipped_bytes` is what a zip-based file may unpack to.

    The others are `ragkit.ingest_options.IngestOptions`' of the same name, as far as they concern
    what is made of a file before it is cut.
    """

    unzipped_bytes: int = 256 << 20
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
    shared = {field.name for field in fields(ParseOptions)} - {"unzipped_bytes"}
    return ParseOptions(unzipped_bytes, **{name: getattr(options, name) for name in shared})


def read_options(given: Mapping[str, Any]) -> ParseOptions:
    """Make the options of what `as_json` gave."""
    return ParseOptions(**given)
