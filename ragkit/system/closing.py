"""A base class that makes objects with `close` usable in `with` statements."""

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """A base class: leaving the `with` block calls `close`."""

    @abstractmethod
    def close(self) -> None:
        """Release resources; a second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
