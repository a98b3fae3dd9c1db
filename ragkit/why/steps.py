"""The parts of an explanation: the stages that a document passes, each with its finding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from ragkit.types import Attempt, Document


@dataclass(frozen=True, slots=True)
class Step:
    """A stage between file and citation: its finding about the document, with numbers.

    `kept` is False where the document was lost, None where the stage alone decides nothing.
    """

    name: str
    kept: bool | None
    says: str
    numbers: Mapping[str, float | str] = field(default_factory=dict)
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Why:
    """The stages that a document passed, up to the one that lost it.

    `document` is None if it does not exist.
    """

    question: str
    name: str
    document: Document | None
    steps: tuple[Step, ...]

    @property
    def lost(self) -> str:
        """The first stage that lost the document; "" if none did."""
        return next((step.name for step in self.steps if step.kept is False), "")

    @property
    def remedy(self) -> str:
        """The remedy of the stage that lost the document; "" where none is needed."""
        return next((step.remedy for step in self.steps if step.kept is False), "")


@runtime_checkable
class Ledgered(Protocol):
    """A store with a ledger of ingestion attempts."""

    def attempts(self, collection: str, name: str) -> Sequence[Attempt]:
        """List the attempts at files that a name fits, best first, then latest first."""
        ...


@runtime_checkable
class Dated(Protocol):
    """A reader of the versions that were current at a moment."""

    def version(self, collection: str, document: int) -> int | None:
        """Return the number of a document's version of the moment; None where there is none."""
        ...
