"""Where sentences begin and end, in English and Chinese.

Works on offsets only, so that a sentence can always be quoted exactly. It knows nothing of
tokens, chunks or documents.
"""

import re

from ragkit.types import Span

# A full stop ends a sentence only before white space or the end: "3.14" and "e.g.x" do not.
# A title's own marks end nothing (《救命！》), nor does a heading's: those are taken whole.
# All begin with one of a few characters, which a regular expression finds 5 times as quickly as it
# tries its alternatives at every place.
_END = re.compile(
    r"""
    [《\#。！？!?….\n] (?:
    (?<=《) [^《》\n]{1,60}》
    | (?<=\#)(?<![^\n]\#) \#{0,5}\ [^\n]*(?:\n|\Z)  # a Markdown heading is a line of its own
    | (?<=[。！？!?…]) [。！？!?…]* ["'”’」』）)\]】》]*  # these need no space after them
    | (?<=\.) \.* ["'”’)\]]* (?=\s|$)
    | (?<=\n) \s*\n  # a blank line
    | (?<=\n) (?=\s*(?:[-*•|]|\#{1,6}\ |\d+[.)]\s))  # a list item, a table row
    )""",
    re.VERBOSE | re.MULTILINE,
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|vs|etc|e\.g|i\.e|cf|al|No|Fig|Eq|Vol|pp?|Inc|Ltd|Co|Corp"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)|\b[A-Z]|^[ \t>]*\d{1,2})\.$",
    re.MULTILINE,  # the last is a list item's number
)
_LONGEST_ABBREVIATION = 8  # looking no further back keeps "A. A. A. ..." linear


def sentences(text: str) -> list[Span]:
    """Split text into sentences; spans are trimmed of white space, in order, none is empty.

    >>> text = "Dr. No came. 他来了。他走了。"
    >>> [text[span.start : span.end] for span in sentences(text)]
    ['Dr. No came.', '他来了。', '他走了。']
    """
    spans: list[Span] = []
    start = 0
    for match in _END.finditer(text):
        if match.group().startswith("《"):
            continue
        near = max(start, match.end() - _LONGEST_ABBREVIATION)
        if match.group().startswith(".") and _ABBREVIATION.search(text, near, match.end()):
            continue
        _append(spans, text, start, match.end())
        start = match.end()
    _append(spans, text, start, len(text))
    return spans


def _append(spans: list[Span], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    rest = piece.lstrip()
    if rest:
        spans.append(Span(end - len(rest), start + len(piece.rstrip())))
