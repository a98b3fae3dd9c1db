"""Distances in a text, measured in the embedder's own tokens.

It knows nothing of headings, sentences or what a good place to cut is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ragkit.embed.tokens import APART, TokenSpans
from ragkit.types import Span

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Tokenise = Callable[[str], Sequence[Span]]

# A token may hide any length of text: WordPiece makes one of ten million letters, and none of
# control characters. Beyond this many characters a stretch counts as several, so that no chunk
# grows past max_tokens times this. Ordinary tokens have 1 to 15 characters.
STRETCH_CHARS = 64


class Ruler:
    """Measure one text; the whole is tokenised once, at the start."""

    def __init__(self, text: str, token_spans: Tokenise) -> None:
        import numpy as np

        spans = token_spans(text)
        self._text = text
        self._token_spans = token_spans
        starts = _starts(spans)
        bounds = np.concatenate(([0], starts, [len(text)]))
        wide = np.flatnonzero(np.diff(bounds) > STRETCH_CHARS)
        self._separable = isinstance(spans, TokenSpans) and spans.separable and not len(wide)
        marks = [np.arange(bounds[i] + STRETCH_CHARS, bounds[i + 1], STRETCH_CHARS) for i in wide]
        self._starts: NDArray[np.int64] = np.sort(np.concatenate([starts, *marks]))

    def index(self, position: int) -> int:
        """Count the tokens that begin before a position."""
        return int(self._starts.searchsorted(position))

    def reach(self, position: int, tokens: int) -> int:
        """Find the furthest position that has no more than `tokens` tokens before it from here."""
        last = self.index(position) + tokens
        return int(self._starts[last]) if last < len(self._starts) else len(self._text)

    def back(self, position: int, tokens: int) -> int:
        """Find where the last `tokens` tokens before a position begin."""
        first = self.index(position) - tokens
        return int(self._starts[first]) if first > 0 else 0

    def count(self, start: int, end: int) -> int:
        """Count the tokens of `text[start:end]` exactly, tokenising it again unless needless."""
        if self._separable and self._is_apart(start) and self._is_apart(end):
            return self.index(end) - self.index(start)
        return len(self._token_spans(self._text[start:end]))

    def _is_apart(self, position: int) -> bool:
        text = self._text
        return (
            position in (0, len(text))
            or APART.match(text, position) is not None
            or APART.match(text, position - 1) is not None
        )


def _starts(spans: Sequence[Span]) -> NDArray[np.int64]:
    import numpy as np

    if isinstance(spans, TokenSpans):
        return spans.starts
    return np.fromiter((span.start for span in spans), np.int64, len(spans))
