"""What can be closed can stand in a `with` statement. Knows nothing of what is closed."""

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """A base for what holds something open: leaving the `with` block calls `close`."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what is held; a second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
