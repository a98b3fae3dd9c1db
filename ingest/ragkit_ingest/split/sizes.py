"""The sizes of chunks: the requested ones, within the limit of the embedding model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragkit.errors import SettingsError

if TYPE_CHECKING:
    from ragkit.contracts import Embedder
    from ragkit.settings.ingest_options import IngestOptions

# Most models embed passages of a few hundred tokens best, whatever they could take; the figure
# is arbitrary. The default model's limit (254) is below it.
LARGEST_DEFAULT = 512
SMALLEST = 16  # a single character can be several tokens


@dataclass(frozen=True, slots=True)
class Sizes:
    """Tokens of a chunk at most, and how many of them neighbours share, about.

    Raises SettingsError for sizes that make no sense.
    """

    tokens: int
    overlap: int

    def __post_init__(self) -> None:
        if self.tokens < SMALLEST or not 0 <= self.overlap <= self.tokens // 2:
            raise SettingsError(
                f"chunks of {self.tokens} tokens with an overlap of {self.overlap} make no sense:"
                f" take at least {SMALLEST}, and at most half of it as overlap"
            )


def default_sizes(limit: int) -> tuple[int, int]:
    """Choose chunk size and overlap for an embedder that takes `limit` tokens.

    >>> default_sizes(254)
    (254, 25)
    """
    size = min(limit, LARGEST_DEFAULT)
    return size, size // 10


def sizes_of(options: IngestOptions, embedder: Embedder, reserve: int = 0) -> Sizes:
    """Choose the sizes of a collection's chunks; `reserve` tokens of the model's are kept free.

    Raises SettingsError for more than the model reads, unless long chunks are embedded in windows.
    """
    limit = embedder.max_tokens
    windows = options.long_chunks != "refuse"
    size = options.chunk_tokens or default_sizes(limit)[0]
    if size > limit and not windows:
        raise SettingsError(
            f"chunk_tokens is {size}, but {embedder.space.model} reads {limit} tokens: what stands"
            f" behind them in a chunk would not be found. Set RAGKIT_CHUNK_TOKENS to {limit} at"
            " most, or RAGKIT_LONG_CHUNKS to mean."
        )
    if size <= limit:  # a longer one is embedded in windows, header and all
        size = min(size, limit - reserve)
    overlap = options.chunk_overlap_tokens
    return Sizes(size, default_sizes(size)[1] if overlap is None else min(overlap, size // 2))
