"""The model that an embedder stands for: a collection's may change while a program runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from ragkit.contracts import Embedder


@runtime_checkable
class Changing(Protocol):
    """An embedder that stands for a model, which may be another one later."""

    def current(self) -> Embedder:
        """Return the model that it stands for now."""
        ...

    def latest(self) -> Embedder:
        """Return the model that `current` last returned, which may be outdated."""
        ...


def current(embedder: Embedder) -> Embedder:
    """Return what a collection's embedder stands for now; any other embedder is itself."""
    return embedder.current() if isinstance(embedder, Changing) else embedder


def latest(embedder: Embedder) -> Embedder:
    """Return what a collection's embedder last stood for; any other embedder is itself."""
    return embedder.latest() if isinstance(embedder, Changing) else embedder
