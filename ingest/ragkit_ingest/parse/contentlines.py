"""Content lines, which calendars (RFC 5545) and contacts (RFC 6350) are made of: NAME;PARAMS:VALUE.

A line that is folded goes on after a line end and a space.
"""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ragkit.text.normalise import clean
from ragkit_ingest.parse.decode import decode, lookup

_MAX_LINE_CHARS = 1 << 20  # arbitrary; a picture in a contact is longer than its words
_FOLD = re.compile(rb"\r?\n[ \t]")
_NAME = re.compile(rb"(?:[\w-]{1,100}\.)?([\w-]{1,100})")
_PARAMETER = re.compile(rb""";([\w-]{1,50})(?:=("[^"\n]{0,500}"|[^";:\n]{0,500}))?""")
_ESCAPED = re.compile(r"\\([nN\\;,:])")


@dataclass(frozen=True, slots=True)
class ContentLine:
    """A name in capital letters, its parameters by their names, and the value as it is written."""

    name: str
    value: str
    parameters: Mapping[str, str]

    @property
    def text(self) -> str:
        """The value as text: what is escaped in it is written out."""
        return _ESCAPED.sub(lambda match: "\n" if match[1] in "nN" else match[1], self.value)

    def parts(self) -> list[str]:
        """Return the value's parts, which semicolons set apart."""
        parts = re.split(r"(?<!\\);", self.value)
        return [ContentLine("", part, {}).text.strip() for part in parts]


def content_lines(data: bytes) -> Iterator[ContentLine]:
    """Yield the lines of a file. Raises IngestError for binary data."""
    data = _FOLD.sub(b"", data)  # which may part the bytes of a character
    if not data.isascii() or 0 in data:
        data = _FOLD.sub(b"", clean(decode(data)).encode())
    lines = iter(data.splitlines())
    for line in lines:
        name = _NAME.match(line)
        if name is None:
            continue
        place = name.end()
        parameters: dict[str, str] = {}
        while match := _PARAMETER.match(line, place):
            key, value = match[1].decode().upper(), (match[2] or b"").decode("utf-8", "replace")
            if match[2] is None:  # old contacts write a bare value: TEL;WORK:1
                key, value = "TYPE", key
            both = (parameters.get(key, ""), value.strip('"'))
            parameters[key] = ",".join(filter(None, both))
            place = match.end()
        if line[place : place + 1] == b":":
            raw = line[place + 1 : place + 1 + _MAX_LINE_CHARS]
            if (
                "QUOTED-PRINTABLE"
                in f"{parameters.get('ENCODING')}{parameters.get('TYPE')}".upper()
            ):
                raw = _unquoted(raw, lines, parameters.get("CHARSET", ""))
            yield ContentLine(name[1].decode().upper(), raw.decode("utf-8", "replace"), parameters)


def _unquoted(raw: bytes, lines: Iterator[bytes], charset: str) -> bytes:
    """Decode a quoted-printable value, which goes on where a line ends in "="."""
    pieces = [raw]
    while pieces[-1].rstrip().endswith(b"=") and (line := next(lines, None)) is not None:
        pieces.append(line[:_MAX_LINE_CHARS])
    decoded = quopri.decodestring(b"\n".join(pieces))
    name = lookup(charset) or "utf-8"
    return clean(decoded.decode(name, "replace")).replace("\n", "\\n").encode()
