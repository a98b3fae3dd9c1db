"""Read the headings of a document's text, and the section below each.

Headings are those of Markdown, which parsers write for other formats too.
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
    """A heading, its parent headings, and the span `start:end` up to the next heading."""

    heading: str
    above: tuple[str, ...]
    start: int
    end: int


@lru_cache(4)  # documents take turns, each many times
def sections(text: str) -> Sequence[Section]:
    """List the sections of a text, in order; a section ends at the next heading."""
    headings = list(_HEADING.finditer(text))
    result: list[Section] = []
    path: list[tuple[int, str]] = []
    for match, following in zip_longest(headings, headings[1:]):
        level = len(match[1])
        path = [parent for parent in path if parent[0] < level]
        heading = heading_text(match[2])
        end = following.start() if following else len(text)
        result.append(Section(heading, tuple(name for _, name in path), match.end(), end))
        path.append((level, heading))
    return result


def headings_at(source: Source, offset: int) -> tuple[str, ...]:
    """Return the headings above a place, outermost first, else those of its passage."""
    all_sections = sections(source.text)
    count = bisect_right(all_sections, offset, key=lambda section: section.start)
    if count:
        section = all_sections[count - 1]
        return tuple(filter(None, (*section.above, section.heading)))
    passage = source.passage_at(offset)
    return tuple(map(heading_text, passage.headings)) if passage else ()


def topic_at(source: Source, offset: int) -> str:
    """Return the topic of a place: the innermost heading, else the document's title."""
    headings = headings_at(source, offset)
    return headings[-1] if headings else title_of(source)


def title_of(source: Source) -> str:
    """Return a document's title; "" for a meaningless file name such as scan_018."""
    title = heading_text(source.document.title)
    named = re.search(r"[^\W\d_]", title) and "_" not in title
    return title if named else ""
