"""Parse web archives (.mhtml, .mht): a web page as a browser stores it, with what it shows.

The page is what the HTML parser makes of it; pictures, styles and frames are left out.
"""

from __future__ import annotations

from dataclasses import replace

from ragkit.errors import IngestError
from ragkit.types import ParsedText
from ragkit_ingest.parse.builder import title_line
from ragkit_ingest.parse.html import page
from ragkit_ingest.parse.html.charset import marked
from ragkit_ingest.parse.mail.eml import header_of, message_of, parts_of, payload_of
from ragkit_ingest.parse.options import ParseOptions

_TYPES = frozenset({"text/html", "application/xhtml+xml"})


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse a web archive. Raises IngestError for what is none, or has no page in it."""
    message = message_of(data)
    pages = [part for part in parts_of(message) if part.get_content_type() in _TYPES]
    if not pages:
        raise IngestError("parse", "a web archive without a page: save it anew as .html")
    start = str(message.get_param("start") or "")
    main = next((part for part in pages if start and part["Content-ID"] == start), pages[0])
    parsed = page.parse(marked(payload_of(main), main.get_content_charset() or "utf-8"), options)
    if parsed.title:
        return parsed
    return replace(parsed, title=title_line(header_of(message, "Subject")))
