"""A document's headings as they stand in its text, and the section below each.

It reads Markdown's marks, which parsers write for other formats too; knows nothing of questions.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest

from ragkit_eval.testset.sources import Source
from ragkit_eval.testset.wording import heading_text

_HEADING = re.compile(r"^(#{1,6}) ([^\n]{1,200})$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, the headings above it, and `start:end` of the text below it up to the next one."""

    heading: str
    above: tuple[str, ...]
    start: int
    end: int


@lru_cache(4)  # documents are asked about in turn, each many times
def sections(text: str) -> Sequence[Section]:
    """List the sections of a text, in order; a section's own text ends at the next heading."""
    headings = list(_HEADING.finditer(text))
    made: list[Section] = []
    path: list[tuple[int, str]] = []
    for match, following in zip_longest(headings, headings[1:]):
        level = len(match[1])
        path = [parent for parent in path if parent[0] < level]
        heading = heading_text(match[2])
        end = following.start() if following else len(text)
        made.append(Section(heading, tuple(name for _, name in path), match.end(), end))
        path.append((level, heading))
    return made


def headings_at(source: Source, offset: int) -> tuple[str, ...]:
    """Return the headings that a place stands under, outermost first; its passage's without any."""
    known = sections(source.text)
    before = bisect_right(known, offset, key=lambda section: section.start)
    if before:
        section = known[before - 1]
        return tuple(filter(None, (*section.above, section.heading)))
    passage = source.passage_at(offset)
    return tuple(map(heading_text, passage.headings)) if passage else ()


def topic_at(source: Source, offset: int) -> str:
    """Return what a place is about: the innermost heading, else the document's title."""
    headings = headings_at(source, offset)
    return headings[-1] if headings else title_of(source)


def title_of(source: Source) -> str:
    """Return a document's title; "" where it is a file's name that says nothing, as scan_018."""
    title = heading_text(source.document.title)
    named = re.search(r"[^\W\d_]", title) and "_" not in title
    return title if named else ""
