"""The fixed splitter: windows of a fixed number of tokens.

The plainest there is, and the measure of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ragkit.types import Chunk, ParsedText, Span
from ragkit_ingest.split.contract import Splitter, Tokenise
from ragkit_ingest.split.layout import Layout, Piece
from ragkit_ingest.split.sizes import Sizes, sizes_of

if TYPE_CHECKING:
    from ragkit.contracts import Embedder
    from ragkit.settings.ingest_options import IngestOptions


class Fixed:
    """Cut every `sizes.tokens` tokens, each window beginning `sizes.overlap` before the last ends.

    A window is shortened where its text, tokenised by itself, falls into more tokens than it had in
    the whole: a word cut in two can.
    """

    covers = True

    def __init__(self, token_spans: Tokenise, sizes: Sizes) -> None:
        self._token_spans = token_spans
        self._sizes = sizes
        self.max_tokens = sizes.tokens

    def split(self, parsed: ParsedText, spans: Sequence[Span]) -> tuple[Chunk, ...]:
        """Cut a text, as the contract says."""
        layout = Layout(parsed, spans, self._token_spans)
        return layout.chunks(_windows(layout, self._sizes))


def make(options: IngestOptions, embedder: Embedder, reserve: int) -> Splitter:
    """Make the splitter of a collection's options."""
    return Fixed(embedder.token_spans, sizes_of(options, embedder, reserve))


def _windows(layout: Layout, sizes: Sizes) -> Iterator[Piece]:
    ruler, end = layout.ruler, len(layout.text)
    start = done = 0  # everything before `done` is in a piece
    while done < end:
        piece, reached = _window(layout, start, sizes.tokens)
        if piece.end > done and piece.start < piece.end:
            yield piece
        if reached <= done:  # the overlap left no room
            start = done
            continue
        done = reached
        start = max(start + 1, ruler.back(done, sizes.overlap)) if done < end else end


def _window(layout: Layout, start: int, size: int) -> tuple[Piece, int]:
    """Return the longest window from here that fits, and where it ends untrimmed."""
    ruler = layout.ruler
    first = ruler.index(start)
    step = size
    reached = max(ruler.at(first + step), start + 1)
    while True:
        low, high = layout.trimmed(start, reached)
        tokens = ruler.count(low, high)
        if tokens <= size or reached - start <= 1:
            return Piece(low, high, tokens), reached
        if step > 1:
            step = max(1, step - (tokens - size))
            reached = max(min(reached, ruler.at(first + step)), start + 1)
        else:
            reached = start + (reached - start) // 2
