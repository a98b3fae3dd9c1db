"""Where sentences begin and end, in English and Chinese.

Works on offsets only, so that a sentence can always be quoted exactly. It knows nothing of
tokens, chunks or documents.
"""

import re

from ragkit.types import Span

# A full stop ends a sentence only before white space or the end: "3.14" and "e.g.x" do not.
_END = re.compile(
    r"""
    [。！？!?…]+ ["'”’」』）)\]】》]*          # CJK and emphatic ends need no space after them
    | \.+ ["'”’)\]]* (?=\s|$)
    | \n\s*\n | \n(?=\s*(?:[-*•|]|\d+[.)]\s))    # a blank line, a list item, a table row
    """,
    re.VERBOSE,
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|vs|etc|e\.g|i\.e|cf|al|No|Fig|Eq|Vol|pp?|Inc|Ltd|Co|Corp"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)|\b[A-Z])\.$"
)


def sentences(text: str) -> list[Span]:
    """Split text into sentences; spans are trimmed of white space, in order, none is empty.

    >>> [("Dr. No came. 他来了。他走了。")[s.start : s.end] for s in sentences("Dr. No came. 他来了。他走了。")]
    ['Dr. No came.', '他来了。', '他走了。']
    """
    spans: list[Span] = []
    start = 0
    for match in _END.finditer(text):
        if match.group().startswith(".") and _ABBREVIATION.search(text, start, match.end()):
            continue
        _append(spans, text, start, match.end())
        start = match.end()
    _append(spans, text, start, len(text))
    return spans


def _append(spans: list[Span], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    stripped = piece.strip()
    if stripped:
        first = start + len(piece) - len(piece.lstrip())
        spans.append(Span(first, first + len(stripped)))
