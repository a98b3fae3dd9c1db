"""Parse plain text: it stays as it is; paragraphs are what empty lines set apart."""

from __future__ import annotations

import re
from itertools import islice

from ragkit.text.normalise import clean
from ragkit.types import Block, ParsedText
from ragkit_ingest.parse.decode import decode
from ragkit_ingest.parse.options import MAX_BLOCKS, ParseOptions

# Runs of lines with something on them. Possessive, so that a line of spaces is read once.
_PARAGRAPH = re.compile(r"\S[^\n]*+(?:\n[^\S\n]*+\S[^\n]*+)*+")


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse a text file of any encoding that `decode` knows. Raises IngestError for binary data."""
    text = clean(decode(data))
    paragraphs = islice(_PARAGRAPH.finditer(text), MAX_BLOCKS + 1)  # one too many is refused later
    blocks = [Block(*match.span(), "paragraph") for match in paragraphs]
    return ParsedText(text, tuple(blocks))
