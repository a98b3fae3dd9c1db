"""Parse files with the name of an old Office format that are in another format.

Programs write Rich Text, web pages and today's formats under such names; Office opens them.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Final

from ragkit.errors import IngestError
from ragkit_ingest.parse.options import ParseOptions

if TYPE_CHECKING:
    from ragkit.types import ParsedText

OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_PARSERS: Final = {".docx": "office.docx", ".xlsx": "office.xlsx", ".pptx": "office.pptx"}
_PAGE: Final = re.compile(
    rb"[\xef\xbb\xbf\s]*<(?:!doctype\s+html|html|head|body|table|meta)\b", re.I
)
_MAIL: Final = re.compile(rb"(?:mime-version|from|message-id):", re.I)  # Word's own web archive


def parse(data: bytes, options: ParseOptions, *, kind: str, today: str) -> ParsedText:
    """Parse a file by its first bytes; `kind` and `today` name the program and its format now.

    Raises IngestError for a file in none of these formats.
    """
    if data.startswith(b"PK\x03\x04"):
        module = _PARSERS[today]
    elif data.startswith(b"{\\rt"):
        module = "office.rtf"
    elif _PAGE.match(data):
        module = "html.page"
    elif _MAIL.match(data):
        module = "mail.mhtml"
    else:
        reason = f"not a file of old {kind}, as its name says: save it as {today}"
        raise IngestError("parse", reason)
    parsed: ParsedText = import_module(f"ragkit_ingest.parse.{module}").parse(data, options)
    return parsed
