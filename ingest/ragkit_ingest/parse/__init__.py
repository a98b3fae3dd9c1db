"""Parse a file's bytes into canonical text with structure: one parser per format, chosen by suffix.

A parser is a function from bytes and options to ParsedText, and reads nothing but those bytes. The
process around it sets its limits.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ragkit.documents.formats import MEDIA_TYPES as MEDIA_TYPES
from ragkit.errors import IngestError
from ragkit_ingest.parse.formats import CONTAINERS as CONTAINERS
from ragkit_ingest.parse.formats import MODULES
from ragkit_ingest.parse.options import MAX_BLOCKS
from ragkit_ingest.parse.options import ParseOptions as ParseOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ragkit.types import ParsedText

    Parse = Callable[[bytes, ParseOptions], ParsedText]
    Members = Callable[[bytes, ParseOptions], Iterator[tuple[str, bytes]]]

_DEFAULT = ParseOptions()
# Parsers that keep every character, which takes at most four bytes.
_VERBATIM = ("plain", "markup.markdown", "delimited", "code.")
_BYTES_PER_CHAR = 4


def parse_bytes(data: bytes, suffix: str, options: ParseOptions = _DEFAULT) -> ParsedText:
    """Parse a file of a supported suffix (in any case) into canonical text with structure.

    Raises IngestError("parse", reason) for a file that cannot be read or has no text in it.
    """
    module = MODULES.get(suffix.lower(), "")
    if not module:
        raise IngestError("parse", f"no parser for {suffix or 'a file without a suffix'}")
    if not data:
        raise IngestError("parse", "the file is empty (0 bytes)")
    name, _, language = module.partition(":")
    parser = import_module(f"{__name__}.{name}")
    parse: Parse = parser.LANGUAGES[language].parse if language else parser.parse
    if module.startswith(_VERBATIM):
        _check(_fewest_chars(data), 0, options)
    parsed = parse(data, options)
    _check(len(parsed.text), len(parsed.blocks), options)
    parsed = _cleaned(parsed, options)
    if not parsed.text.strip("\ufeff\ufffd \t\n\r\f\v\xa0\u3000") or parsed.text.isspace():
        raise IngestError("parse", getattr(parser, "NO_TEXT", "the file is empty: no text in it"))
    return parsed


def _fewest_chars(data: bytes) -> int:
    """Count the characters that a text has at least, without the memory that decoding takes."""
    if data.isascii() and 0 not in data:  # UTF-16 of English is bytes of ASCII, half of them zero
        return len(data) - data.count(b"\r\n")
    return len(data) // _BYTES_PER_CHAR


def _check(chars: int, blocks: int, options: ParseOptions) -> None:
    """Raise IngestError for a text beyond the limits of a document."""
    remedy = "divide the file, or take a table's rows one by one with --text"
    if chars > options.text_chars:
        limit = f"{options.text_chars / 1e6:g} million characters (RAGKIT_PARSE_TEXT_MCHARS)"
        raise IngestError("parse", f"its text has more than {limit}: {remedy}")
    if blocks > MAX_BLOCKS:
        raise IngestError("parse", f"it has more than {MAX_BLOCKS:,} paragraphs: {remedy}")


def _cleaned(parsed: ParsedText, options: ParseOptions) -> ParsedText:
    from ragkit_ingest.clean import cleaned

    return cleaned(parsed, options)


def members_of(
    data: bytes, suffix: str, options: ParseOptions = _DEFAULT
) -> list[tuple[str, bytes]]:
    """List the members of a container: the name in it, and the bytes.

    Raises IngestError("parse", reason) for a container that is damaged or hostile.
    """
    module = import_module(f"{__name__}.{CONTAINERS[suffix.lower()]}")
    members: Members = module.members
    return list(members(data, options))
