"""The contract of an embedder that takes token ids, so that a text is tokenised only once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, cast

from ragkit.contracts import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragkit.contracts import Vectors

    Row = NDArray[np.int32]  # a passage's token ids, its prefix's first, without special tokens


class TokenEmbedder(Embedder, Protocol):
    """An embedder whose passages may be given as token ids.

    `embed_ids(passage_ids(texts))` is `embed_passages(texts)`.
    """

    def prefix_ids(self) -> Row:
        """Return the tokens that every row begins with; none where passages have no prefix."""
        ...

    def passage_ids(self, texts: Sequence[str]) -> Sequence[Row]:
        """Tokenise passages of any length, each as a row with the prefix before it."""
        ...

    def embed_ids(self, rows: Sequence[Row]) -> Vectors:
        """Embed rows as `embed_passages` does texts: any number, in the given order.

        Raises ModelError for a row of more than `max_tokens` tokens besides its prefix.
        """
        ...


def by_ids(embedder: Embedder) -> TokenEmbedder | None:
    """Return an embedder as one that takes token ids; None for one that takes texts only."""
    return cast("TokenEmbedder", embedder) if hasattr(type(embedder), "embed_ids") else None
