"""Parse e-mails as they travel (.eml: RFC 5322 and MIME), and unpack what is attached to them.

Charsets and names are read even where they are declared wrongly. Pictures that the HTML text shows
are left out; a message within the message is a file of its own.
"""

from __future__ import annotations

import datetime as dt
import email
import io
import mimetypes
from collections.abc import Iterator
from email.errors import HeaderParseError
from email.generator import BytesGenerator
from email.header import decode_header
from email.message import Message
from email.utils import parsedate_to_datetime

from ragkit.errors import IngestError
from ragkit.types import ParsedText
from ragkit_ingest.parse.mail.flowed import unflowed
from ragkit_ingest.parse.mail.message import Letter, Text, says_little, text_of, written
from ragkit_ingest.parse.membernames import path_parts, unused
from ragkit_ingest.parse.options import ParseOptions

_KNOWN = ("From", "To", "Subject", "Date", "Received", "Message-ID", "Return-Path", "MIME-Version")
_LOCKED = frozenset({"multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime"})
_SIGNATURES = frozenset(
    "application/pgp-signature application/pkcs7-signature application/x-pkcs7-signature".split()
)
_MAX_HEADER_CHARS = 20_000  # arbitrary; a circular's recipients, of which less is kept
_MAX_PARTS = 5_000  # arbitrary; a mailbox's digest has hundreds


def parse(data: bytes, options: ParseOptions) -> ParsedText:
    """Parse an e-mail. Raises IngestError for what is none, or is encrypted."""
    message = message_of(data)
    texts = [Text(_text(part), _is_html(part)) for part in _body_parts(message)]
    if not any(text.text.strip() for text in texts) and _is_locked(message):
        raise IngestError("parse", "encrypted or sealed e-mail: save it decrypted to read it")
    inline = len(_shown_pictures(message))
    letter = Letter(
        subject=header_of(message, "Subject"),
        sender=header_of(message, "From"),
        to=header_of(message, "To"),
        cc=header_of(message, "Cc"),
        date=_date(message),
        texts=texts,
        attachments=[name for name, _ in _attached(message)],
        notes={"inline images": inline} if inline else {},
    )
    return written(letter, options)


def members(data: bytes, options: ParseOptions) -> Iterator[tuple[str, bytes]]:
    """Yield the attachments: names decoded, each used once; messages within as NAME.eml."""
    for name, part in _attached(message_of(data)):
        inner = _children(part)
        if part.get_content_type() == "message/rfc822" and inner:
            yield name, _bytes(inner[0])
        elif not part.is_multipart():
            yield name, payload_of(part)


def message_of(data: bytes) -> Message:
    """Read a message and its parts' headers. Raises IngestError for what is none."""
    try:
        message = email.message_from_bytes(data.lstrip(b"\xef\xbb\xbf \r\n"))
    except RecursionError as error:
        raise IngestError("parse", "parts nested too deeply for an e-mail") from error
    if not any(name in message for name in _KNOWN):
        raise IngestError("parse", "not an e-mail: it has no header such as From or Subject")
    for part in parts_of(message):
        _mend(part)
    return message


def parts_of(message: Message) -> Iterator[Message]:
    """Give all parts in order, but not those of messages within the message."""
    waiting, count = [message], 0
    while waiting:
        part = waiting.pop()
        count += 1
        if count > _MAX_PARTS:
            raise IngestError("parse", f"more than {_MAX_PARTS} parts in an e-mail")
        yield part
        if part.get_content_maintype() == "multipart":
            waiting.extend(reversed(_children(part)))


def _body_parts(message: Message) -> Iterator[Message]:
    """Give the parts that are the e-mail's text, one of each set of alternatives."""
    waiting = [message]
    while waiting:
        part = waiting.pop()
        kind = part.get_content_type()
        if kind == "multipart/alternative":
            waiting.extend(_chosen(_children(part)))
        elif part.get_content_maintype() == "multipart":
            waiting.extend(reversed(_children(part)))
        elif kind in {"text/plain", "text/html"} and not _is_attached(part):
            yield part


def _chosen(alternatives: list[Message]) -> list[Message]:
    """Take the plain text if it says anything, else the last of what may hold a text."""
    texts = [part for part in alternatives if part.get_content_type() == "text/plain"]
    formatted = [part for part in alternatives if _is_html(part) or part.is_multipart()]
    if texts and not (formatted and says_little(_text(texts[0]))):
        return texts[:1]
    return formatted[-1:]


def _is_html(part: Message) -> bool:
    return part.get_content_type() == "text/html"


def _children(part: Message) -> list[Message]:
    inner = part.get_payload()
    parts = inner if isinstance(inner, list) else []
    return [child for child in parts if isinstance(child, Message)]


def _is_attached(part: Message) -> bool:
    return part.get_content_disposition() == "attachment" or bool(_filename(part))


def _shown_pictures(message: Message) -> set[int]:
    """Give the identities of the parts that are pictures within the HTML text, such as logos."""
    identifiers = set()
    for part in parts_of(message):
        is_bundle = part.get_content_type() == "multipart/related"
        for inner in _children(part) if part.is_multipart() else ():
            is_inline = is_bundle or inner.get_content_disposition() != "attachment"
            if inner.get_content_maintype() == "image" and "Content-ID" in inner and is_inline:
                identifiers.add(id(inner))
    return identifiers


def _attached(message: Message) -> Iterator[tuple[str, Message]]:
    """Give the attachments and their names."""
    used: set[str] = set()
    inline = _shown_pictures(message)
    for part in parts_of(message):
        kind = part.get_content_type()
        is_text = kind in {"text/plain", "text/html"} and not _is_attached(part)
        attachable = part.get_content_maintype() != "multipart" and kind not in _SIGNATURES
        if part is message and not _is_attached(part) and (is_text or kind in _LOCKED):
            continue
        if attachable and not is_text and id(part) not in inline:
            yield unused(_name(part), used), part


def _name(part: Message) -> str:
    """Name an attachment by its own word, by its subject or by what it is."""
    named = path_parts(_filename(part))
    is_message = part.get_content_type() == "message/rfc822"
    if named:
        name = named[-1]
        return name if not is_message or name.lower().endswith(".eml") else f"{name}.eml"
    if is_message:
        inner = _children(part)
        subject = path_parts(header_of(inner[0], "Subject").replace("/", "-") if inner else "")
        return f"{subject[-1] if subject else 'message'}.eml"
    return f"attachment{mimetypes.guess_extension(part.get_content_type()) or ''}"


def _filename(part: Message) -> str:
    return _decoded(part.get_filename() or "")


def _mend(part: Message) -> None:
    """Decode and shorten the headers that say what a part is, before their words are taken."""
    for header in ("Content-Type", "Content-Disposition"):
        values = [str(value) for name, value in part.raw_items() if name.lower() == header.lower()]
        if values and not (values[0].isascii() and len(values[0]) < _MAX_HEADER_CHARS):
            raw = values[0].encode("utf-8", "surrogateescape")
            del part[header]
            part[header] = text_of(raw, None).replace("\n", " ")[:_MAX_HEADER_CHARS]


def header_of(message: Message, name: str) -> str:
    """Read a header, decoding what is encoded in it (RFC 2047) or simply not ASCII."""
    values = [str(value) for key, value in message.raw_items() if key.lower() == name.lower()]
    if not values:
        return ""
    value = values[0][:_MAX_HEADER_CHARS]
    if not value.isascii():
        value = text_of(value.encode("utf-8", "surrogateescape"), None)
    return " ".join(_decoded(value).split())


def _decoded(value: str) -> str:
    if "=?" not in value:
        return value
    try:
        pieces = decode_header(value)
    except (HeaderParseError, ValueError):
        return value
    return "".join(
        piece if isinstance(piece, str) else text_of(piece, charset) for piece, charset in pieces
    )


def _date(message: Message) -> dt.datetime | None:
    try:
        return parsedate_to_datetime(header_of(message, "Date"))
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _text(part: Message) -> str:
    text = text_of(payload_of(part), part.get_content_charset())
    flowed = str(part.get_param("format", "")).lower() == "flowed"
    joined = str(part.get_param("delsp", "")).lower() == "yes"
    return unflowed(text, delete_space=joined) if flowed else text


def payload_of(part: Message) -> bytes:
    """Return the bytes of a part that has no parts."""
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _is_locked(message: Message) -> bool:
    return any(part.get_content_type() in _LOCKED for part in parts_of(message))


def _bytes(message: Message) -> bytes:
    """Write a message within a message out as a file of its own."""
    target = io.BytesIO()
    try:
        BytesGenerator(target, mangle_from_=False, maxheaderlen=0).flatten(message)
    except (UnicodeError, LookupError, ValueError, TypeError, RecursionError) as error:
        raise IngestError("parse", "damaged message attached to the e-mail") from error
    return target.getvalue()
