"""Parse Outlook's e-mails (.msg), and unpack what is attached to them.

Plain text or HTML is kept; a text that is only there as Rich Text is counted as missing. A message
within the message becomes an .eml file.
"""

from __future__ import annotations

from collections.abc import Iterator
from email.message import EmailMessage
from email.utils import format_datetime

from ragkit.types import ParsedText
from ragkit_ingest.parse.mail.message import Letter, Text, says_little, text_of, written
from ragkit_ingest.parse.mail.outlook import Properties, open_outlook
from ragkit_ingest.parse.membernames import path_parts, unused
from ragkit_ingest.parse.options import ParseOptions

_SUBJECT, _BODY, _HTML, _RTF, _CLASS = 0x0037, 0x1000, 0x1013, 0x1009, 0x001A
_SENDER_NAME, _SENDER_SMTP, _SENDER_ADDRESS = 0x0C1A, 0x5D01, 0x0C1F
_RECIPIENT_NAME, _RECIPIENT_SMTP, _RECIPIENT_ADDRESS, _RECIPIENT_KIND = (
    0x3001,
    0x39FE,
    0x3003,
    0x0C15,
)
_SUBMITTED, _DELIVERED = 0x0039, 0x0E06
_LONG_NAME, _SHORT_NAME, _DISPLAY_NAME = 0x3707, 0x3704, 0x3001
_DATA, _CONTENT_ID, _HIDDEN = 0x3701, 0x3712, 0x7FFE
_TO, _CC = 1, 2
_CODEPAGES = (0x3FDE, 0x3FFD)  # of the text on its way, of the message's properties
_MAX_DEPTH = 5  # arbitrary; of messages within messages that are written out


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse an e-mail. Raises IngestError for what is none of Outlook's."""
    message = open_outlook(data)
    names = [name for name, part, _ in _attached(message)]
    return written(_letter(message, names), options)


def members(data: bytes, options: ParseOptions) -> Iterator[tuple[str, bytes]]:
    """Yield the attachments, each name used once; pictures that the text shows are left out."""
    for name, part, inner in _attached(open_outlook(data)):
        yield name, part.data(_DATA) if inner is None else _eml(inner, 1).as_bytes()


def _letter(message: Properties, attachments: list[str]) -> Letter:
    """Read who writes to whom, and the text."""
    text = message.text(_BODY, *_CODEPAGES)
    page = _html(message)
    notes = {}
    inline = sum(_is_shown(part) for part in message.parts("__attach"))
    if inline:
        notes["inline images"] = inline
    if says_little(text) and not page and message.data(_RTF):
        notes["rich text"] = 1
    texts = [Text(page, is_html=True)] if page and says_little(text) else [Text(text)]
    return Letter(
        subject=message.text(_SUBJECT, *_CODEPAGES),
        sender=_address(message, _SENDER_NAME, _SENDER_SMTP, _SENDER_ADDRESS),
        to=_recipients(message, _TO),
        cc=_recipients(message, _CC),
        date=message.moment(_SUBMITTED) or message.moment(_DELIVERED),
        texts=texts,
        attachments=attachments,
        notes=notes,
    )


def _html(message: Properties) -> str:
    data = message.data(_HTML)
    codepage = message.number(_CODEPAGES[0])
    return text_of(data, f"cp{codepage}" if codepage else None) if data else message.text(_HTML)


def _address(part: Properties, *keys: int) -> str:
    name, smtp, fallback = (part.text(key, *_CODEPAGES).strip() for key in keys)
    address = smtp or (fallback if "@" in fallback else "")
    if not address or name == address:
        return name or address
    return f"{name.strip(chr(39))} <{address}>" if name else address


def _recipients(message: Properties, kind: int) -> str:
    keys = (_RECIPIENT_NAME, _RECIPIENT_SMTP, _RECIPIENT_ADDRESS)
    addresses = (
        _address(part, *keys)
        for part in message.parts("__recip")
        if (part.number(_RECIPIENT_KIND) or _TO) == kind
    )
    return ", ".join(dict.fromkeys(addresses))


def _attached(message: Properties) -> Iterator[tuple[str, Properties, Properties | None]]:
    """Give the attachments: name, where it is, and the message that it is, if it is one."""
    used: set[str] = set()
    for part in message.parts("__attach"):
        if _is_shown(part):
            continue
        inner = part.inner(_DATA)
        file_name = next(
            (t for k in (_LONG_NAME, _SHORT_NAME, _DISPLAY_NAME) if (t := part.text(k))), ""
        )
        name = (path_parts(file_name) or ["message" if inner else "attachment"])[-1]
        if inner is not None and not name.lower().endswith(".eml"):
            name = f"{name.removesuffix('.msg')}.eml"
        yield unused(name, used), part, inner


def _is_shown(part: Properties) -> bool:
    """Say whether an attachment is a picture within the HTML text."""
    name = (part.text(_LONG_NAME) or part.text(_SHORT_NAME)).lower()
    is_picture = name.endswith((".png", ".jpg", ".jpeg", ".gif", ".bmp"))
    return is_picture and bool(part.text(_CONTENT_ID) or part.number(_HIDDEN))


def _eml(message: Properties, depth: int) -> EmailMessage:
    """Write a message within a message as one that needs no Outlook."""
    letter = _letter(message, [])
    result = EmailMessage()
    for key, value in (
        ("Subject", letter.subject),
        ("From", letter.sender),
        ("To", letter.to),
        ("Cc", letter.cc),
    ):
        line = " ".join(value.encode("utf-8", "replace").decode().split())
        if line:
            result[f"{key}"] = line
    if letter.date:
        result["Date"] = format_datetime(letter.date)
    for text in letter.texts:
        result.set_content(text.text, subtype="html" if text.is_html else "plain")
    for name, part, inner in _attached(message):
        if inner is None:
            result.add_attachment(part.data(_DATA), "application", "octet-stream", filename=name)
        elif depth < _MAX_DEPTH:
            result.add_attachment(_eml(inner, depth + 1), filename=name)
    return result
