"""Cut Rich Text into tokens, and name the codecs of its code pages and fonts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from ragkit.errors import IngestError
from ragkit_ingest.parse.decode import lookup

_TOKEN = re.compile(
    rb"\\(?P<word>[A-Za-z]{1,32})(?P<number>-?\d{1,10})? ?|\\'(?P<hex>[0-9A-Fa-f]{2})"
    rb"|\\(?P<sign>[^A-Za-z])|(?P<brace>[{}])|[\r\n]+|(?P<text>[^\\{}\r\n]++)|\\",
    re.DOTALL,
)
# Microsoft's number of a font's character set: its code page.
_CHARSETS: Final = {
    0: 1252, 77: 10000, 128: 932, 129: 949, 130: 1361, 134: 936, 136: 950, 161: 1253, 162: 1254,
    163: 1258, 177: 1255, 178: 1256, 186: 1257, 204: 1251, 222: 874, 238: 1250, 254: 437, 255: 850,
}  # fmt: skip
_CODECS: Final = {
    936: "gb18030",
    10000: "mac_roman",
    65001: "utf-8",
    1361: "johab",
    54936: "gb18030",
}
SET_NAMES: Final = {"ansi": "cp1252", "mac": "mac_roman", "pc": "cp437", "pca": "cp850"}


class Token(NamedTuple):
    """A control word with its number, a sign, a brace, or bytes of text."""

    word: str = ""
    number: int | None = None
    sign: str = ""
    text: bytes = b""


def tokens(data: bytes) -> Iterator[Token]:
    """Yield the tokens of a file; bytes that `\\bin` counts are passed over."""
    place = 0
    while match := _TOKEN.match(data, place):
        place = match.end()
        kind = match.lastgroup
        if kind in {"word", "number"}:
            number = int(match["number"]) if match["number"] else None
            word = match["word"].decode()
            if word == "bin":
                place += min(max(number or 0, 0), len(data) - place)
            else:
                yield Token(word=word, number=number)
        elif kind == "hex":
            yield Token(sign="'", text=bytes.fromhex(match["hex"].decode()))
        elif kind == "sign":
            yield Token(sign=match["sign"].decode("latin-1"))
        elif kind == "brace":
            yield Token(sign="open" if match["brace"] == b"{" else "close")
        elif kind == "text":
            yield Token(text=match["text"])


def codec_of_page(page: int) -> str:
    """Name the codec of a code page; that of Western Europe for one that is unknown."""
    return _CODECS.get(page) or lookup(f"cp{page}") or "cp1252"


def codec_of_charset(charset: int) -> str:
    """Name the codec of a font's character set; "" where the document's own counts."""
    return codec_of_page(_CHARSETS[charset]) if charset in _CHARSETS and charset else ""


def check(data: bytes) -> None:
    """Raise IngestError for what is no Rich Text."""
    if not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{\\rt"):
        raise IngestError("parse", "not a Rich Text file, as its name says")
