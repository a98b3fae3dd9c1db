"""The line of title and headings that is embedded before each passage, within its share."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ragkit.text.passage import header

if TYPE_CHECKING:
    from ragkit.contracts import Embedder

SHARE: Final = 8  # of what the model reads, a header has one part of so many at most; arbitrary
_KEPT: Final = 1024  # headers: neighbouring passages have the same one


class Headers:
    """Headers for one embedding model, whose tokens are counted; it is loaded at the first use."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._kept: OrderedDict[tuple[str, ...], str] = OrderedDict()

    @property
    def max_tokens(self) -> int:
        """Count the tokens that no header exceeds."""
        self._embedder.load()
        return self._embedder.max_tokens // SHARE

    def of(self, title: str, headings: Sequence[str]) -> str:
        """Return the header of a passage, with the line's end; "" for none."""
        key = (title, *headings)
        line = self._kept.get(key)
        if line is None:
            limit = self.max_tokens
            tokens = self._embedder.token_spans
            line = header(title, headings, lambda line: len(tokens(line)) <= limit)
            self._kept[key] = line
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return line
