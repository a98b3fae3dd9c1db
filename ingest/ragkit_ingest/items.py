"""What a source yields: one thing to take in, whatever it lies in.

A file, a member of an archive, a record, a web page: each has a URI, a format, and bytes that are
read when its turn has come. It knows nothing of sources or of what becomes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Value = str | int | float | bool  # of a metadata key


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a file looks like from outside; as long as it is the same, so is the file.

    `changed_at` is when it was last changed, in seconds since 1970 by the clock of where it lies,
    None where nobody says. `is_exact`: no two contents have the same mark, as an ETag promises.
    """

    mark: tuple[str | int, ...]
    changed_at: float | None = None
    is_exact: bool = False


def unknown() -> Stamp | None:
    """Return the stamp of what cannot be known without reading it: none."""
    return None


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to take in.

    `suffix` tells its format, as ".pdf" does, in lower case. `read` takes how many bytes there may
    be and returns them; it raises IngestError("read", reason). `name` is a title where nothing
    better is known; `title` and `metadata` are the user's own, and win over what the parser finds.
    What was `found` lay in a folder or container that the user named: he did not name it itself.
    `path` is where its file lies within its place; `stamp` looks at it from outside.
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
