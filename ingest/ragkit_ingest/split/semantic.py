"""The semantic splitter: cut where the text goes on to something else, as the embedder sees it.

Neighbouring sentences are embedded with one sentence on either side, and a cut is where the cosine
of two neighbours falls into the lowest percentiles of the document: G. Kamradt, "5 Levels of Text
Splitting" (2023), level 4, https://github.com/FullStackRetrieval-com/RetrievalTutorials. What is
still too large is cut at its deepest dips. It knows nothing of words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from ragkit.types import Chunk, ParsedText, Span
from ragkit_ingest.split.contract import Splitter
from ragkit_ingest.split.cutter import Cutter
from ragkit_ingest.split.layout import Layout, Piece
from ragkit_ingest.split.sizes import Sizes, sizes_of
from ragkit_ingest.split.structural import TINY

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragkit.contracts import Embedder, Vectors
    from ragkit.ingest_options import IngestOptions

    Unit = tuple[int, int]

PERCENTILE: Final = 95.0  # of the distances: Kamradt's, and LangChain's SemanticChunker's
_AT_ONCE = 256  # windows embedded by one call, to bound the memory; arbitrary


class Semantic:
    """Cut at dips of the similarity of neighbouring sentences; costs embedding the text thrice.

    Headings begin a chunk. A piece under an eighth of a chunk is joined to the next one.
    """

    covers = True

    def __init__(self, embedder: Embedder, sizes: Sizes, percentile: float = PERCENTILE) -> None:
        self._embedder = embedder
        self._sizes = sizes
        self._percentile = percentile
        self.max_tokens = sizes.tokens

    def split(self, parsed: ParsedText, spans: Sequence[Span]) -> tuple[Chunk, ...]:
        """Cut a text, as the contract says."""
        layout = Layout(parsed, spans, self._embedder.token_spans)
        return layout.chunks(self._pieces(layout))

    def _pieces(self, layout: Layout) -> Iterator[Piece]:
        import numpy as np

        trimmed = (layout.trimmed(*unit) for unit in layout.breaks.units())
        units = [unit for unit in trimmed if unit[0] < unit[1]]
        if not units:
            return
        distances = self._distances(layout, units)
        threshold = float(np.percentile(distances, self._percentile)) if len(distances) else 0.0
        starts = set(layout.outline.starts)
        parted = [
            distance >= threshold or unit[0] in starts
            for unit, distance in zip(units[1:], distances.tolist(), strict=True)
        ]
        cutter = Cutter(layout, self._sizes)
        for first, last in self._ranges(layout, units, parted, distances):
            yield from cutter.pieces(units[first][0], units[last][1])

    def _distances(self, layout: Layout, units: Sequence[Unit]) -> NDArray[np.float64]:
        """Return how far each unit's window is from the next one's: shape (len(units) - 1,)."""
        import numpy as np

        windows = [self._window(layout, units, index) for index in range(len(units))]
        vectors: list[Vectors] = []
        for first in range(0, len(windows), _AT_ONCE):
            vectors.append(self._embedder.embed_passages(windows[first : first + _AT_ONCE]))
        table = np.concatenate(vectors)
        # Rounded, so that neither the batch nor the machine decides between equal distances.
        found: NDArray[np.float64] = np.round(1.0 - np.einsum("nd,nd->n", table[:-1], table[1:]), 4)
        return found

    def _window(self, layout: Layout, units: Sequence[Unit], index: int) -> str:
        """Return a unit with one on either side; by itself, or its beginning, where it is long."""
        limit = self._embedder.max_tokens
        around = units[max(0, index - 1)][0], units[min(len(units) - 1, index + 1)][1]
        for start, end in (around, units[index]):
            if layout.ruler.count(start, end) <= limit:
                return layout.text[start:end]
        start, tokens = units[index][0], limit
        while True:
            end = min(units[index][1], max(start + 1, layout.ruler.reach(start, tokens)))
            if layout.ruler.count(start, end) <= limit or tokens <= 1:
                return layout.text[start:end]
            tokens //= 2

    def _ranges(
        self,
        layout: Layout,
        units: Sequence[Unit],
        parted: list[bool],
        distances: NDArray[np.float64],
    ) -> Iterator[Unit]:
        """Give ranges of units (first, last): the segments, none larger than a chunk if it can be.

        A segment that is too large is cut at its widest distance, again and again; one stack.
        """
        size = self._sizes.tokens
        cuts = [index for index, part in enumerate(parted) if part]
        bounds = [-1, *cuts, len(units) - 1]
        segments = [(a + 1, b) for a, b in pairwise(bounds)]
        whole: list[Unit] = []
        stack = segments[::-1]
        while stack:
            first, last = stack.pop()
            if first == last or layout.ruler.between(units[first][0], units[last][1]) <= size:
                whole.append((first, last))
                continue
            cut = first + int(distances[first:last].argmax())
            stack += [(cut + 1, last), (first, cut)]
        yield from self._joined(layout, units, whole)

    def _joined(
        self, layout: Layout, units: Sequence[Unit], ranges: Sequence[Unit]
    ) -> Iterator[Unit]:
        """Join what is tiny to what follows, within its section and while both fit."""
        between, size = layout.ruler.between, self._sizes.tokens
        starts = set(layout.outline.starts)
        first, last = ranges[0]
        for following in ranges[1:]:
            start, end = units[first][0], units[following[1]][1]
            tiny = between(start, units[last][1]) < size // TINY
            if tiny and between(start, end) <= size and units[following[0]][0] not in starts:
                last = following[1]
                continue
            yield first, last
            first, last = following
        yield first, last


def make(options: IngestOptions, embedder: Embedder, reserve: int) -> Splitter:
    """Make the splitter of a collection's options; no overlap unless within what must be cut."""
    return Semantic(embedder, sizes_of(options, embedder, reserve))
