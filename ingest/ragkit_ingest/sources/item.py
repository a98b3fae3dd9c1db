"""Items: what a source yields, whatever they lie in.

A file, a member of an archive, a record, a web page, an upload: each has a URI, a format, and bytes
that are read when its turn has come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from ragkit.errors import IngestError
    from ragkit.store.jobs.worker import Job

Value = str | int | float | bool  # of a metadata key


@dataclass(frozen=True, slots=True)
class Stamp:
    """How a file looks from outside; as long as its stamp is the same, so is the file.

    `changed_at` is when it was last changed, in seconds since 1970 by the clock of where it lies,
    None where nobody says. `is_exact`: no two contents have the same mark, as an ETag promises.
    """

    mark: tuple[str | int, ...]
    changed_at: float | None = None
    is_exact: bool = False


def unknown() -> Stamp | None:
    """Return no stamp: the item has to be read to see whether it has changed."""
    return None


@dataclass(frozen=True, slots=True)
class Item:
    """A source's unit before it is a document.

    `suffix` tells its format, as ".pdf" does, in lower case. `read` takes how many bytes there may
    be and returns them; it raises IngestError("read", reason). `name` is a title where nothing
    better is known; `title` and `metadata` are the user's own, and win over what the parser finds.
    An item that was `found` lay in a folder or container that the user named: he did not name it
    itself. `path` is where its file lies within its place; `stamp` looks at it from outside. `job`
    is the job that a worker has claimed for it already.
    """

    uri: str
    suffix: str
    read: Callable[[int], bytes]
    name: str = ""
    title: str = ""
    metadata: Mapping[str, Value] = field(default_factory=dict)
    found: bool = False
    path: str = ""
    stamp: Callable[[], Stamp | None] = unknown
    job: Job | None = None


def failing(uri: str, suffix: str, error: IngestError) -> Item:
    """Return an item that cannot be read, for this reason."""

    def read(max_bytes: int) -> NoReturn:
        raise error

    return Item(uri, suffix, read)
