"""The parent-child splitter: small chunks are searched, the larger chunks around them are shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ragkit.types import Chunk, ParsedText, Span
from ragkit_ingest.split.contract import Splitter, Tokenise
from ragkit_ingest.split.cutter import Cutter
from ragkit_ingest.split.layout import Layout, Piece
from ragkit_ingest.split.sizes import LARGEST_DEFAULT, SMALLEST, Sizes
from ragkit_ingest.split.structural import structural_pieces

if TYPE_CHECKING:
    from ragkit.contracts import Embedder
    from ragkit.settings.ingest_options import IngestOptions

CHILDREN: Final = 4  # a child has a quarter of its parent's tokens at most; arbitrary


class Parents:
    """Cut into structural chunks without overlap, and each of these into the chunks searched.

    `parent_tokens` bounds the parents, which no model has to read whole; `sizes` the children.
    """

    covers = True

    def __init__(self, token_spans: Tokenise, sizes: Sizes, parent_tokens: int) -> None:
        self._token_spans = token_spans
        self._sizes = sizes
        self._parents = Sizes(parent_tokens, 0)
        self.max_tokens = sizes.tokens

    def split(self, parsed: ParsedText, spans: Sequence[Span]) -> tuple[Chunk, ...]:
        """Cut a text, as the contract says; each chunk has a parent, if only itself."""
        layout = Layout(parsed, spans, self._token_spans)
        return layout.chunks(self._pieces(layout))

    def _pieces(self, layout: Layout) -> Iterator[Piece]:
        cutter = Cutter(layout, self._sizes)
        for parent in structural_pieces(layout, self._parents):
            span = Span(parent.start, parent.end)
            for child in cutter.pieces(parent.start, parent.end):
                yield replace(child, parent=span)


def make(options: IngestOptions, embedder: Embedder, reserve: int) -> Splitter:
    """Make the splitter of a collection's options: `chunk_tokens` is the parent's size.

    Raises SettingsError for sizes that make no sense.
    """
    parent = options.chunk_tokens or LARGEST_DEFAULT
    child = min(max(SMALLEST, parent // CHILDREN), embedder.max_tokens - reserve)
    overlap = min(options.chunk_overlap_tokens or 0, child // 2)
    return Parents(embedder.token_spans, Sizes(child, overlap), parent)
