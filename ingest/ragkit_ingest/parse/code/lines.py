"""Find a source's definitions by its lines alone: how they begin, and how far they are indented.

Right for most code that people have formatted, in any language; minified code has no definitions
here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ragkit_ingest.parse.code.outline import Definition

_LINE = re.compile(r"((?:(?<![ \t])[ \t]++)?+)(\S[^\n]*+)")
_MAX_LINE_CHARS = 400  # arbitrary; a longer line defines nothing
_TAB = 8
_MAX_DEPTH = 50  # arbitrary; definitions that are open at once
# A line that begins so goes on with, or ends, the definition above it.
_CONTINUES = re.compile(
    r"[{(\[<]|-\s|#\s*(?:if|el|endif|define|pragma)|(?:public|private|protected)\s*:"
)
_ENDS = re.compile(r"[})\]]|(?:end|fi|done|esac|END)\b")


@dataclass(slots=True)
class _Open:
    indent: int
    start: int
    name: int


def definitions(
    text: str, pattern: re.Pattern[str], comments: tuple[str, ...], *, flat: bool
) -> list[Definition]:
    """Find definitions whose first line `pattern` matches up to the name.

    With `flat` one reaches to the next that is indented no more; otherwise to the next line that is
    not, brackets that close it aside.
    """
    finished: list[Definition] = []
    opened: list[_Open] = []
    last = 0  # where the last line with code on it ends
    for start, end, indent in _lines(text):
        comment = text.startswith((*comments, "*"), start)
        short = end - start <= _MAX_LINE_CHARS
        match = pattern.match(text, start, end) if short and not comment else None
        if not match and not flat and opened and indent == opened[-1].indent:
            if _ENDS.match(text, start, end):
                last = end
                _close(opened, finished, end)
                continue
            if _CONTINUES.match(text, start, end):
                last = end
                continue
        while opened and (match or not flat) and indent <= opened[-1].indent:
            _close(opened, finished, last)
        if match and len(opened) < _MAX_DEPTH:
            opened.append(_Open(indent, start, match.end()))
        if not comment or not flat:
            last = end
    while opened:
        _close(opened, finished, last)
    return finished


def _close(opened: list[_Open], finished: list[Definition], end: int) -> None:
    item = opened.pop()
    finished.append(Definition(item.start, item.name, max(end, item.name)))


def _lines(text: str) -> Iterator[tuple[int, int, int]]:
    """Give the lines with something on them: where they start and end, and their indentation."""
    for match in _LINE.finditer(text):
        space = match.group(1)
        indent = len(space) + (_TAB - 1) * space.count("\t")
        end = match.end()
        yield match.start(2), end, indent
