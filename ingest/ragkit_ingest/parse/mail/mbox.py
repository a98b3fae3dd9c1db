"""Unpack mailboxes (.mbox): each mail is a file of its own.

A line that begins with "From " and stands at the beginning, or after an empty line, begins a mail.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from email.parser import BytesHeaderParser

from ragkit.errors import IngestError
from ragkit_ingest.parse.mail.eml import header_of
from ragkit_ingest.parse.membernames import path_parts
from ragkit_ingest.parse.options import ParseOptions

_MAX_MAILS = 100_000  # arbitrary; ten a day for 27 years
_MAX_NAME_CHARS = 80  # arbitrary; a subject is no name of a file
_HEADER_BYTES = 1 << 16  # arbitrary; a mail's header has some thousands
# The year at the end of the line keeps sentences that begin with "From" out.
_BEGIN = re.compile(
    rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From [^\n]{0,500}?\b(?:19|20)\d\d\b[^\n]{0,50}\n"
)
_QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)
_END_OF_HEADER = re.compile(rb"\r?\n\r?\n")


def members(data: bytes, options: ParseOptions) -> Iterator[tuple[str, bytes]]:
    """Yield the mails, each named by its subject and by what is in it.

    A mail keeps its name when others are added to the mailbox or deleted. Equal mails are one.
    Raises IngestError for what is no mailbox.
    """
    starts = [(match.start(), match.end()) for match in _BEGIN.finditer(data)]
    if not starts or data[: starts[0][0]].strip():
        raise IngestError("parse", 'not a mailbox: it does not begin with a line "From ..."')
    if len(starts) > _MAX_MAILS:
        raise IngestError("parse", f"more than {_MAX_MAILS:,} mails: divide the mailbox")
    ends = [start for start, _ in starts[1:]] + [len(data)]
    names: set[str] = set()
    for (_, start), end in zip(starts, ends, strict=True):
        mail = _QUOTED.sub(rb"\1", data[start:end].rstrip(b"\r\n") + b"\n")
        name = _name(mail)
        if mail.strip() and name not in names:
            names.add(name)
            yield name, mail


def _name(mail: bytes) -> str:
    end = _END_OF_HEADER.search(mail, 0, _HEADER_BYTES)
    header = BytesHeaderParser().parsebytes(mail[: end.start() if end else _HEADER_BYTES])
    subject = path_parts(header_of(header, "Subject").replace("/", "-").replace("\\", "-"))
    digest = hashlib.sha256(mail).hexdigest()[:12]
    words = f"{subject[-1][:_MAX_NAME_CHARS]} " if subject else ""
    return f"{words}{digest}.eml"
