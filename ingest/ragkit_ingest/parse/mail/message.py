"""Write an e-mail as text, whatever file it came in: subject, correspondents, date, body."""

from __future__ import annotations

import codecs
import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragkit.errors import IngestError
from ragkit.text.normalise import clean
from ragkit.types import ParsedText
from ragkit_ingest.parse import plain
from ragkit_ingest.parse.assembly import Assembly
from ragkit_ingest.parse.builder import Builder
from ragkit_ingest.parse.decode import decode, detect, lookup
from ragkit_ingest.parse.html import page
from ragkit_ingest.parse.options import ParseOptions

_MAX_LINE_CHARS = 1000  # arbitrary; a circular can have thousands of recipients
_STUB_CHARS = 300  # arbitrary; "your program cannot show HTML" is shorter, a letter may be too
_WESTERN = frozenset({"cp1252", "latin-1", "iso8859-15"})  # declared by programs that never asked


@dataclass(frozen=True, slots=True)
class Text:
    """One of the texts of an e-mail."""

    text: str
    is_html: bool = False


@dataclass(frozen=True, slots=True)
class Letter:
    """An e-mail's texts in order and who it is between; `attachments` are names."""

    subject: str = ""
    sender: str = ""
    to: str = ""
    cc: str = ""
    date: dt.datetime | None = None
    texts: Sequence[Text] = ()
    attachments: Sequence[str] = ()
    notes: Mapping[str, int] = field(default_factory=dict)


def written(letter: Letter, options: ParseOptions) -> ParsedText:
    """Write an e-mail down, its texts one after the other."""
    assembly = Assembly()
    assembly.notes.update(letter.notes)
    head = Builder()
    head.heading(1, letter.subject)
    head.paragraph("\n".join(f"{key}: {value}" for key, value in _lines(letter) if value))
    assembly.add(head.result())
    for part in letter.texts:
        marked = codecs.BOM_UTF8 + part.text.encode("utf-8", "replace")
        parse = page.parse_part if part.is_html else plain.parse
        assembly.add(parse(marked, options) if part.text.strip() else ParsedText(""))
    return assembly.result(title=letter.subject, metadata=_metadata(letter))


def says_little(text: str) -> bool:
    """Say whether a plain text is none, or only says that the HTML should be looked at."""
    return not text.strip() or (len(text) < _STUB_CHARS and "html" in text.casefold())


def text_of(data: bytes, charset: str | None) -> str:
    """Decode text whose declared charset may be missing, unknown or wrong.

    GB 2312 is read as GB 18030, which it mostly is; a Western charset is believed only where the
    bytes do not look like Chinese.
    """
    name = lookup(charset) if charset else None
    if name in _WESTERN and not data.isascii():
        name = _detected(data) or name
    if name:
        try:
            return clean(data.decode(name)).removeprefix("\ufeff")
        except (UnicodeError, LookupError):
            pass
    return clean(_readable(data))


def _detected(data: bytes) -> str | None:
    """Name the encoding that bytes look like, where it is one that nobody takes by mistake."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        return "utf-8"
    try:
        detected = detect(data)
    except IngestError:
        return None
    return detected if detected in {"gb18030", "big5hkscs"} else None


def _readable(data: bytes) -> str:
    try:
        return decode(data)
    except IngestError:
        return data.decode("utf-8", "replace")


def _lines(letter: Letter) -> list[tuple[str, str]]:
    return [
        ("From", _cut(letter.sender)),
        ("To", _cut(letter.to)),
        ("Cc", _cut(letter.cc)),
        ("Date", f"{letter.date:%Y-%m-%d %H:%M %z}".strip() if letter.date else ""),
        ("Attachments", _cut(", ".join(letter.attachments))),
    ]


def _metadata(letter: Letter) -> dict[str, str]:
    # Python's own reading of addresses is recursive, and a header is anybody's.
    name, _, address = letter.sender.rpartition("<")
    metadata = {
        "author": _cut(name.strip(" \"'") or address.rstrip("> ")),
        "from": _cut(letter.sender),
        "to": _cut(letter.to),
        "cc": _cut(letter.cc),
        "created": letter.date.isoformat() if letter.date else "",
        "attachments": _cut(", ".join(letter.attachments)),
    }
    return {key: value for key, value in metadata.items() if value}


def _cut(value: str) -> str:
    line = " ".join(clean(value).split())
    return line if len(line) <= _MAX_LINE_CHARS else line[: _MAX_LINE_CHARS - 1] + "…"
