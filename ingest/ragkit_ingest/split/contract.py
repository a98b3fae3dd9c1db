"""The contract of splitters: a parsed text becomes chunks that the embedder reads in full."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ragkit.types import Chunk, ParsedText, Span

Tokenise = Callable[[str], Sequence[Span]]


class Splitter(Protocol):
    """Cuts texts into chunks; the same text gives the same chunks.

    Chunks are in order, within the text, never empty, trimmed of white space, and each ends
    further on than the one before. `tokens` counts the embedder's own tokens of what is embedded
    (`ragkit.text.passage.words_of`: the chunk's lead and its text) and is at most `max_tokens`.
    """

    @property
    def max_tokens(self) -> int:
        """Count the tokens that no chunk exceeds."""
        ...

    @property
    def covers(self) -> bool:
        """Tell whether every character that is not white space is in some chunk."""
        ...

    def split(self, parsed: ParsedText, spans: Sequence[Span]) -> tuple[Chunk, ...]:
        """Cut a text; `spans` are the embedder's tokens of the whole of it.

        Raises IngestError at the stage "chunk" for a text that cannot be cut so.
        """
        ...
