"""The sentence splitter: windows of whole sentences, which share whole sentences.

Tables and code count as one sentence while they fit.
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


class Sentences:
    """Fill each chunk with sentences; one that is too long is cut as the structural splitter does.

    The next chunk begins with the last sentences of the one before, as many as fit
    `sizes.overlap` tokens.
    """

    covers = True

    def __init__(self, token_spans: Tokenise, sizes: Sizes) -> None:
        self._token_spans = token_spans
        self._sizes = sizes
        self.max_tokens = sizes.tokens

    def split(self, parsed: ParsedText, spans: Sequence[Span]) -> tuple[Chunk, ...]:
        """Cut a text, as the contract says."""
        layout = Layout(parsed, spans, self._token_spans)
        return layout.chunks(_pieces(layout, self._sizes))


def make(options: IngestOptions, embedder: Embedder, reserve: int) -> Splitter:
    """Make the splitter of a collection's options."""
    return Sentences(embedder.token_spans, sizes_of(options, embedder, reserve))


def _pieces(layout: Layout, sizes: Sizes) -> Iterator[Piece]:
    cutter = Cutter(layout, sizes)
    trimmed = (layout.trimmed(*unit) for unit in layout.breaks.units())
    units = [unit for unit in trimmed if unit[0] < unit[1]]
    first = done = 0  # the units before `done` are in a piece
    while done < len(units):
        last, tokens = _window(layout, units, first, sizes.tokens)
        if last < done:  # the overlap left no room for another sentence
            if first < done:
                first += 1
                continue
            yield from cutter.pieces(*units[done])
            last = done
        else:
            yield Piece(units[first][0], units[last][1], tokens)
        first = done = last + 1
        first = _shared(layout, units, last, sizes.overlap)


def _shared(layout: Layout, units: Sequence[tuple[int, int]], last: int, overlap: int) -> int:
    """Return the first of the units up to `last` that fit into the overlap together."""
    first = last + 1
    while first > 0 and layout.ruler.between(units[first - 1][0], units[last][1]) <= overlap:
        first -= 1
    return first


def _window(
    layout: Layout, units: Sequence[tuple[int, int]], first: int, size: int
) -> tuple[int, int]:
    """Return the last of the units from `first` on that fit together, and the tokens they have.

    One before the first if not even that fits.
    """
    ruler = layout.ruler
    start, last = units[first][0], first
    while last + 1 < len(units) and ruler.between(start, units[last + 1][1]) <= size:
        last += 1
    while last >= first:
        tokens = ruler.count(start, units[last][1])
        if tokens <= size:
            return last, tokens
        last -= 1
    return last, 0
