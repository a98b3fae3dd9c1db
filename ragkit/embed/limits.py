"""What every embedding model is held to: how long a passage may be, how many dimensions it has."""

from __future__ import annotations

from ragkit.errors import ModelError


def check_length(name: str, tokens: int, *, model: str, limit: int, room: int) -> None:
    """Raise ModelError for a text of more tokens, special ones included, than `limit`.

    `name` is what the message calls the text, `room` how many tokens of a passage fit.
    """
    if tokens > limit:
        raise ModelError(
            f"{name} has {tokens} tokens where {model} takes {limit}: make chunks of at most"
            f" {room} tokens"
        )


def choose_dimension(model: str, available: int, asked: int | None) -> int:
    """Return how many leading dimensions to keep: all unless asked. Raises ModelError for more."""
    if asked is not None and asked > available:
        raise ModelError(
            f"embedding model {model} has {available} dimensions where the first {asked} are asked"
            f" for: set RAGKIT_EMBED_DIMENSION to at most {available}, or not at all"
        )
    return asked or available
