"""The structural splitter: sections, then paragraphs, sentences, clauses and words.

A chunk stays within its section, unless sections are tiny.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ragkit.types import Chunk, ParsedText, Span
from ragkit_ingest.split.contract import Splitter, Tokenise
from ragkit_ingest.split.cutter import Cutter
from ragkit_ingest.split.layout import Layout, Piece
from ragkit_ingest.split.sizes import Sizes, sizes_of

if TYPE_CHECKING:
    from ragkit.contracts import Embedder
    from ragkit.settings.ingest_options import IngestOptions

TINY = 8  # a section under an eighth of a chunk is joined to the next one


class Structural:
    """Cut at headings and pack paragraphs; tables and code that fit stay whole.

    Neighbours within a section share up to about `sizes.overlap`, whole sentences where they fit.
    """

    covers = True

    def __init__(self, token_spans: Tokenise, sizes: Sizes) -> None:
        self._token_spans = token_spans
        self._sizes = sizes
        self.max_tokens = sizes.tokens

    def split(self, parsed: ParsedText, spans: Sequence[Span]) -> tuple[Chunk, ...]:
        """Cut a text, as the contract says."""
        layout = Layout(parsed, spans, self._token_spans)
        return layout.chunks(structural_pieces(layout, self._sizes))


def make(options: IngestOptions, embedder: Embedder, reserve: int) -> Splitter:
    """Make the splitter of a collection's options."""
    return Structural(embedder.token_spans, sizes_of(options, embedder, reserve))


def structural_pieces(layout: Layout, sizes: Sizes) -> Iterator[Piece]:
    """Cut a text section by section."""
    cutter = Cutter(layout, sizes)
    for start, end in _groups(layout, sizes.tokens):
        yield from cutter.pieces(start, end)


def _groups(layout: Layout, size: int) -> Iterator[tuple[int, int]]:
    """Join each tiny section to the ones that follow while all fit; give the ranges."""
    between, sections = layout.ruler.between, layout.outline.sections
    start, bare = 0, True  # bare: headings only, so far
    for section, following in zip(sections, [*sections[1:], None], strict=True):
        bare = bare and not layout.text[section.body : section.end].strip()
        if following and (
            bare
            or (
                between(start, section.end) < size // TINY and between(start, following.end) <= size
            )
        ):
            continue
        yield start, section.end
        start, bare = section.end, True
