"""What an explanation is made of: the stages that a document goes through, and what each says.

It knows nothing of how they are found out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from ragkit.types import Attempt, Document


@dataclass(frozen=True, slots=True)
class Step:
    """A stage of the way from a file to a citation: what it says of the document, in numbers too.

    `kept` is False where the document was lost, None where the stage decides nothing by itself.
    """

    name: str
    kept: bool | None
    says: str
    numbers: Mapping[str, float | str] = field(default_factory=dict)
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Why:
    """The stages that a document went through, up to the one that lost it.

    `document` is None for one that is not there.
    """

    question: str
    name: str
    document: Document | None
    steps: tuple[Step, ...]

    @property
    def lost(self) -> str:
        """Name the first stage that lost the document; "" when it was cited, or nothing lost it."""
        return next((step.name for step in self.steps if step.kept is False), "")

    @property
    def remedy(self) -> str:
        """Say what helps; "" when nothing has to."""
        return next((step.remedy for step in self.steps if step.kept is False), "")


@runtime_checkable
class Ledgered(Protocol):
    """A store that knows what became of files on their way in."""

    def attempts(self, collection: str, name: str) -> Sequence[Attempt]:
        """List the files that a name fits, best first, then latest first."""
        ...


@runtime_checkable
class Dated(Protocol):
    """A reader of what was current at a moment."""

    def version(self, collection: str, document: int) -> int | None:
        """Return the number of a document's version of the moment; None where there is none."""
        ...
