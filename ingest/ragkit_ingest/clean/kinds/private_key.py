"""Find private keys: PEM and OpenPGP blocks, whole or cut off, PuTTY's files, age, WireGuard.

A block's lines are walked one by one, and the search goes on after the last: linear in the text.
Certificates and public keys are not private.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ragkit.types import Span

_SHORTEST_CHARS = 16  # arbitrary; no word of prose is as long, and lines of keys have 64 or 70

_BEGIN = re.compile(r"-{4,5} ?BEGIN ([A-Z0-9 ]{0,40}?)PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_END = re.compile(r"-{4,5} ?END [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)? ?-{4,5}")
# What stands between the pieces: white space, also as JSON writes it, quotes, a table's cells.
_BETWEEN = re.compile(r"""(?:\s|\\[nrt]|["'|>,+#*\\])*+""")
_HEADER = re.compile(
    r"(?:Proc-Type|DEK-Info|Comment|Subject|Version|Hash|Charset|MessageID)[:=][^\n]*+"
)
_PIECE = re.compile(r"[A-Za-z0-9+/=]++")
_PUTTY = re.compile(r"PuTTY-User-Key-File-[0-9]:[^\n]*+")
_PUTTY_LINE = re.compile(
    r"[ \t]*+(?:(?:Encryption|Comment|Public-Lines|Private-Lines|Private-MAC|Private-Hash"
    r"|Key-Derivation|Argon2-[A-Za-z]++):[^\n]*+|[A-Za-z0-9+/]{16,}+={0,2}|[A-Za-z0-9+/]{2,15}="
    r"|[A-Za-z0-9+/]{2,16}=?=?(?=\s+(?:Private|Argon2|Key)-))[ \t]*+(?=\n|\Z)"
)
_PUTTY_LAST = re.compile(r"[ \t]*+Private-(?:MAC|Hash)")
_SHORT: Final = (
    ("AGE-SECRET-KEY-1", re.compile(r"AGE-SECRET-KEY-1[0-9A-Z]{58}(?![0-9A-Za-z])")),
    ("PrivateKey", re.compile(r"(?<=PrivateKey)\s?=\s?([A-Za-z0-9+/]{43}=)(?![A-Za-z0-9+/=])")),
)


def find(text: str) -> Iterator[Span]:
    """Yield the private keys of a text, each with its first and last line."""
    if "PRIVATE KEY" in text:
        yield from _blocks(text)
    if "PuTTY-User-Key-File" in text:
        yield from _putty(text)
    for sign, pattern in _SHORT:
        if sign in text:
            yield from (Span(*match.span(match.lastindex or 0)) for match in pattern.finditer(text))


def _blocks(text: str) -> Iterator[Span]:
    begin = _BEGIN.search(text)
    while begin:
        end = _end_of_block(text, begin.end())
        if end > begin.end():  # else it is only spoken of
            yield Span(begin.start(), end)
        begin = _BEGIN.search(text, end)


def _end_of_block(text: str, begin: int) -> int:
    """Return where a key's lines end; `begin` itself where there are none."""
    end = begin
    while True:
        at = _skip(_BETWEEN, text, end)
        closing = _END.match(text, at)
        if closing:
            return closing.end() if end > begin else begin
        header = _HEADER.match(text, at)
        piece = header or _PIECE.match(text, at)
        if not piece or not (header or _is_line(text, piece, first=end == begin)):
            return end
        end = piece.end()


def _is_line(text: str, piece: re.Match[str], *, first: bool) -> bool:
    """Tell base64 from prose: it is long, or the padded or last line of what was."""
    if len(piece.group()) >= _SHORTEST_CHARS:
        return True
    padded = "=" in piece.group()
    return not first and (padded or bool(_END.match(text, _skip(_BETWEEN, text, piece.end()))))


def _skip(pattern: re.Pattern[str], text: str, start: int) -> int:
    match = pattern.match(text, start)
    return match.end() if match else start


def _putty(text: str) -> Iterator[Span]:
    begin = _PUTTY.search(text)
    while begin:
        end = begin.end()
        while line := _PUTTY_LINE.match(text, _skip(_LINE_END, text, end)):
            end = line.end()
            if _PUTTY_LAST.match(line.group()):
                break
        yield Span(begin.start(), end)
        begin = _PUTTY.search(text, end)


_LINE_END = re.compile(r"\n{0,2}")
