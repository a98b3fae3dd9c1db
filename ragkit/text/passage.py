"""The text of a passage that is embedded and indexed: the passage, and the headings over it.

Offsets and quotations count in the stored text alone.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from ragkit.types import Chunk

_PART_CHARS: Final = 200  # of a title or heading, at most; arbitrary
_LEFT_OUT: Final = "…"


def indexed_text(text: str, lead: str = "") -> str:
    """Return a passage as its words are indexed: after its lead, such as a table's header row.

    >>> indexed_text("| 7 | wing |", "| no | part |")
    '| no | part |\\n| 7 | wing |'
    """
    return f"{lead}\n{text}" if lead else text


def words_of(text: str, chunk: Chunk) -> str:
    """Cut a chunk out of its document's text, as its words are indexed: after its lead."""
    lead = "" if chunk.lead is None else text[chunk.lead.start : chunk.lead.end]
    return indexed_text(text[chunk.start : chunk.end], lead)


def header(title: str, headings: Sequence[str], fits: Callable[[str], bool]) -> str:
    """Return the line that is embedded before a passage and never quoted, "" for none.

    It is the title and the headings from the outermost on. Where that does not fit, the outer
    headings are left out first, then the title; then the innermost heading is cut.

    >>> header("Manual", ["Wings", "Lift"], lambda line: True)
    'Manual > Wings > Lift\\n'
    >>> header("Manual", ["Wings", "Lift"], lambda line: len(line) < 20)
    'Manual > … > Lift\\n'
    """
    parts = list(_parts([title, *headings]))
    if not parts:
        return ""
    last = parts[-1]
    shorter = [[parts[0], _LEFT_OUT, *parts[n:]] for n in range(2, len(parts))]
    for choice in ([parts, *shorter] if len(parts) > 1 else []) + [[last]]:
        line = " > ".join(choice) + "\n"
        if fits(line):
            return line
    # The longest beginning that fits: the first length that does not, less one.
    over = bisect_left(range(1, len(last)), True, key=lambda n: not fits(_cut(last, n)))
    return _cut(last, over) if over else ""


def _parts(names: Sequence[str]) -> Iterator[str]:
    """Tidy names up; one that repeats the one before it, as a title does a heading, is dropped."""
    previous = ""
    for name in names:
        tidy = " ".join(name[: 2 * _PART_CHARS].split())
        if len(tidy) > _PART_CHARS:
            tidy = tidy[:_PART_CHARS].rstrip() + _LEFT_OUT
        if tidy and tidy.casefold() != previous.casefold():
            yield tidy
            previous = tidy


def _cut(name: str, chars: int) -> str:
    return name[:chars].rstrip() + _LEFT_OUT + "\n"
