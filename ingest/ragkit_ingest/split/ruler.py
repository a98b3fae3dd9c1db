"""Distances in a text, measured in the embedder's own tokens."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragkit.embed.tokens import TokenSpans
from ragkit.types import Span
from ragkit_ingest.split.contract import Tokenise
from ragkit_ingest.split.own_tokens import apart_in

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# A token may hide any length of text: WordPiece makes one of ten million letters, and none of
# control characters. Beyond this many characters a stretch counts as several, so that no chunk
# grows past max_tokens times this. Ordinary tokens have 1 to 15 characters.
STRETCH_CHARS = 64


class Ruler:
    """Measure one text by the tokens of the whole of it, which the caller has made once."""

    def __init__(self, text: str, spans: Sequence[Span], token_spans: Tokenise) -> None:
        import numpy as np

        self._text = text
        self._token_spans = token_spans
        starts = _starts(spans)
        bounds = np.concatenate(([0], starts, [len(text)]))
        wide = np.flatnonzero(np.diff(bounds) > STRETCH_CHARS)
        self._is_apart = None if len(wide) else apart_in(spans)
        marks = [np.arange(bounds[i] + STRETCH_CHARS, bounds[i + 1], STRETCH_CHARS) for i in wide]
        # Looked up one by one, an array of Python's is 5 times as quick as one of numpy's.
        self._starts = array("q")
        if marks:
            starts = np.sort(np.concatenate([starts, *marks]))
        self._starts.frombytes(starts.astype(np.int64, copy=False).tobytes())

    def __len__(self) -> int:
        return len(self._starts)

    def index(self, position: int) -> int:
        """Count the tokens that begin before a position."""
        return bisect_left(self._starts, position)

    def at(self, index: int) -> int:
        """Return where a token begins, the text's end after the last one."""
        return self._starts[index] if index < len(self._starts) else len(self._text)

    def between(self, start: int, end: int) -> int:
        """Count the tokens that begin within a range."""
        return self.index(end) - self.index(start)

    def reach(self, position: int, tokens: int) -> int:
        """Find the furthest position that has no more than `tokens` tokens before it from here."""
        return self.at(self.index(position) + tokens)

    def back(self, position: int, tokens: int) -> int:
        """Find where the last `tokens` tokens before a position begin."""
        first = self.index(position) - tokens
        return self._starts[first] if first > 0 else 0

    def count(self, start: int, end: int, lead: Span | None = None) -> int:
        """Count the tokens of `text[start:end]` exactly, below its lead if it has one.

        It is tokenised again unless that is needless.
        """
        is_apart, text = self._is_apart, self._text
        if is_apart is not None and is_apart(text, start) and is_apart(text, end):
            tokens = self.between(start, end)
            return tokens if lead is None else tokens + self.count(lead.start, lead.end)
        piece = text[start:end]
        if lead is not None:
            piece = f"{text[lead.start : lead.end]}\n{piece}"
        return len(self._token_spans(piece))


def _starts(spans: Sequence[Span]) -> NDArray[np.int64]:
    import numpy as np

    if isinstance(spans, TokenSpans):
        return spans.starts
    return np.fromiter((span.start for span in spans), np.int64, len(spans))
