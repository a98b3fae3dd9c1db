"""What passes between the operators: values, pickled, one to a row of an Arrow table.

Ray pickles whatever goes from process to process; that this is done here keeps Arrow from looking
into it. It knows nothing of Ray.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn

from ragkit.errors import IngestError
from ragkit.types import Document, NewDocument, ParsedText
from ragkit_ingest.run.tally import Task

if TYPE_CHECKING:
    import pyarrow

    from ragkit.contracts import Vectors
    from ragkit.types import EmbeddingSpace

Kind = Literal["stored", "lost", "failed", "stopped"]

_COLUMN: Final = "parcel"


@dataclass(frozen=True, slots=True)
class Sent:
    """A thing on its way to the cluster: its place in the wave, and the task with its bytes."""

    place: int
    task: Task


@dataclass(frozen=True, slots=True)
class Parsed:
    """A thing that was parsed."""

    place: int
    task: Task
    text: ParsedText


@dataclass(frozen=True, slots=True)
class Embedded:
    """A document with its vectors, and the space that they were made in."""

    place: int
    task: Task
    document: NewDocument
    vectors: Vectors
    space: EmbeddingSpace


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a thing.

    `failed` is the thing's own fault, at a stage for a reason; `stopped` ends the whole run with
    the error that `stage` names. The task carries the figures, and no bytes.
    """

    place: int
    kind: Kind
    task: Task
    document: Document | None = None
    stage: str = ""
    reason: str = ""


Parcel = Sent | Parsed | Embedded | Outcome


def sent(place: int, task: Task) -> Sent:
    """Make a parcel of a task; what it was read by stays here, where the files are."""
    item = replace(task.source.item, read=_elsewhere)
    return Sent(place, replace(task, source=replace(task.source, item=item)))


def without_bytes(task: Task) -> Task:
    """Let go of a thing's bytes."""
    return replace(task, source=replace(task.source, data=b""))


def table(parcels: Iterable[Parcel]) -> pyarrow.Table:
    """Pack parcels into an Arrow table, a row for each."""
    import pyarrow

    rows = [pickle.dumps(parcel, protocol=5) for parcel in parcels]
    # large_binary: the offsets of `binary` end at 2 GB, which four large files reach.
    return pyarrow.table({_COLUMN: pyarrow.array(rows, pyarrow.large_binary())})


def parcels(packed: pyarrow.Table) -> Iterator[Parcel]:
    """Unpack an Arrow table, a row at a time."""
    for row in packed.column(_COLUMN):
        parcel: Parcel = pickle.loads(row.as_buffer())  # noqa: S301  packed by our own processes
        yield parcel


def blocks(tasks: Sequence[Task], *, max_files: int, most_bytes: int) -> Iterator[pyarrow.Table]:
    """Divide tasks into tables of at most so many files and bytes, but at least one file."""
    block: list[Parcel] = []
    size = 0
    for place, task in enumerate(tasks):
        task_bytes = len(task.source.data)
        if block and (len(block) >= max_files or size + task_bytes > most_bytes):
            yield table(block)
            block, size = [], 0
        block.append(sent(place, task))
        size += task_bytes
    if block:
        yield table(block)


def process_parcels(packed: pyarrow.Table, process: Callable[[Any], Parcel]) -> pyarrow.Table:
    """Process each parcel that is not an outcome yet."""
    return table(
        parcel if isinstance(parcel, Outcome) else process(parcel) for parcel in parcels(packed)
    )


def _elsewhere(max_bytes: int) -> NoReturn:
    raise IngestError("read", "its bytes were read where the files are")
