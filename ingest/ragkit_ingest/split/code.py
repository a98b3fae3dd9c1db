"""The code splitter: whole definitions, and cuts in a body where it is least indented.

Definitions are headings, bodies are code blocks, as the parsers of source code lay them out; a text
without either is taken for code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ragkit.types import Block, Chunk, ParsedText, Span
from ragkit_ingest.split.breaks import Breaks
from ragkit_ingest.split.contract import Splitter, Tokenise
from ragkit_ingest.split.cutter import Cutter
from ragkit_ingest.split.layout import Layout, Piece
from ragkit_ingest.split.outline import Section
from ragkit_ingest.split.sizes import Sizes, sizes_of

if TYPE_CHECKING:
    from ragkit.contracts import Embedder
    from ragkit.settings.ingest_options import IngestOptions

_SMALL = 4  # definitions under a quarter of a chunk are joined to their neighbours; arbitrary
_FAR = 500  # characters: more than any line is indented


class Code:
    """Keep definitions whole while they fit: a class with all its methods, else some methods of it.

    What is larger is cut between statements of the outermost body, at empty lines where there are.
    """

    covers = True

    def __init__(self, token_spans: Tokenise, sizes: Sizes) -> None:
        self._token_spans = token_spans
        self._sizes = sizes
        self.max_tokens = sizes.tokens

    def split(self, parsed: ParsedText, spans: Sequence[Span]) -> tuple[Chunk, ...]:
        """Cut a text, as the contract says."""
        if not any(block.kind in ("heading", "code") for block in parsed.blocks):
            blocks = (Block(0, len(parsed.text), "code"),) if parsed.text else ()
            parsed = replace(parsed, blocks=blocks)
        layout = Layout(parsed, spans, self._token_spans, _CodeBreaks)
        return layout.chunks(_pieces(layout, self._sizes))


def make(options: IngestOptions, embedder: Embedder, reserve: int) -> Splitter:
    """Make the splitter of a collection's options; neighbours share nothing unless it is asked."""
    code_options = replace(options, chunk_overlap_tokens=options.chunk_overlap_tokens or 0)
    return Code(embedder.token_spans, sizes_of(code_options, embedder, reserve))


def _pieces(layout: Layout, sizes: Sizes) -> Iterator[Piece]:
    cutter = Cutter(layout, sizes)
    for start, end in _groups(layout, sizes.tokens):
        yield from cutter.pieces(start, end)


def _groups(layout: Layout, size: int) -> Iterator[tuple[int, int]]:
    """Join each definition to what it contains, if all of that fits, and small ones to the next."""
    sections, between = layout.outline.sections, layout.ruler.between
    ends = _ends(sections)
    index = 0
    while index < len(sections):
        start = sections[index].start
        last, bare = index - 1, True  # bare: headings only, so far
        while last + 1 < len(sections):
            following = ends[last + 1] - 1
            fits = between(start, sections[following].end) <= size
            if not fits:
                following = last + 1
                fits = between(start, sections[following].end) <= size
            inner = sections[last + 1].level >= sections[index].level
            small = between(start, sections[max(last, index)].end) < size // _SMALL
            if last >= index and not bare and not (inner and small and fits):
                break
            bare = bare and all(
                _is_bare(layout, section) for section in sections[last + 1 : following + 1]
            )
            last = following
        yield start, sections[last].end
        index = last + 1


def _is_bare(layout: Layout, section: Section) -> bool:
    return not layout.text[section.body : section.end].strip()


def _ends(sections: Sequence[Section]) -> list[int]:
    """Return after which section each definition ends: at the next of its level or an outer one."""
    ends = [len(sections)] * len(sections)
    open_: list[int] = []
    for index, section in enumerate(sections):
        while open_ and sections[open_[-1]].level >= section.level:
            ends[open_.pop()] = index
        open_.append(index)
    if sections and sections[0].level == 0:
        ends[0] = 1  # what stands before the first definition contains none
    return ends


class _CodeBreaks(Breaks):
    """Cuts within code before the line in reach that is least indented."""

    def best(self, low: int, high: int) -> int:
        """Choose the best cut in (low, high], the latest of the best."""
        if self.solid_at(high) is None:
            return super().best(low, high)
        ranked = [(self._rank(place), place) for place in self.within(low, high)]
        return max(ranked)[1] if ranked else super().best(low, high)

    def _rank(self, place: int) -> tuple[int, bool]:
        """Rank a line: little indentation first, then an empty line before it.

        A line that closes something belongs to what is above it.
        """
        line = self.text[place : place + _FAR]
        inner = line.lstrip(" \t")
        closing = inner[:1] in ("}", ")", "]", "\n", "")
        after_empty = self.text.startswith("\n\n", max(0, place - 2))
        return len(inner) - len(line) - (_FAR if closing else 0), after_empty
