"""Members of an uploaded mail or archive: each becomes an upload of its own.

They are taken out with the limits of `ragkit ingest`, and sent by whoever sent their container.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ragkit.documents.formats import suffix_of
from ragkit.errors import IngestError, UsageError
from ragkit.store.jobs.upload_bytes import Upload
from ragkit_ingest.parse import CONTAINERS
from ragkit_ingest.sources import expanded
from ragkit_ingest.sources.containers import INSIDE
from ragkit_ingest.sources.items_of_file import Container, Taking
from ragkit_ingest.sources.sizes import in_hand
from ragkit_ingest.sources.skipped import Passed

if TYPE_CHECKING:
    from ragkit.store.jobs.upload_bytes import Sources
    from ragkit_ingest.parser.spool import Part

    Unpack = Callable[[bytes, str], list[tuple[str, Part]]]

_MOST_NAMED: Final = 20  # arbitrary: of a list that is read as a line


@dataclass(frozen=True, slots=True)
class Members:
    """The members of a mail or archive by their paths in it: those sent, those left out and why."""

    sent: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """Write the line for the job's report; empty where there was no member."""
        parts = []
        if self.sent:
            count = "1 file" if len(self.sent) == 1 else f"{len(self.sent)} files"
            parts.append(f"{count} in it, each with a job of its own: {_listed(self.sent)}")
        if self.left_out:
            parts.append(f"left out: {_listed(self.left_out)}")
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class ContainerUpload:
    """An upload that may hold members, and where these go."""

    uri: str
    suffix: str
    collection: str
    principal: str
    sources: Sources

    @property
    def holds_members(self) -> bool:
        """Whether it is to be unpacked; a member of another upload was already."""
        return self.suffix in CONTAINERS and INSIDE not in self.uri

    def send_members(self, data: bytes, unpack: Unpack, max_bytes: int) -> Members:
        """Store each member as an upload of `max_bytes` at most; tell which, and which not.

        Raises IngestError for what cannot be unpacked, NotFoundError when the collection is gone.
        """
        passed, members = Passed(), Members()
        container = Container(self.uri, self.suffix, in_hand(data), taking=Taking(passed=passed))
        for item in expanded(container, data, unpack):
            path = item.uri.removeprefix(self.uri + INSIDE)
            file = item.uri.rpartition("/")[2]
            file = file if suffix_of(file) else file + item.suffix  # as an upload's name tells it
            try:
                upload = Upload(file, io.BytesIO(item.read(max_bytes)), item.uri)
                self.sources.keep(self.collection, [upload], principal=self.principal)
            except IngestError as error:
                members.left_out.append(f"{path} ({error.reason})")
            except UsageError as error:
                members.left_out.append(f"{path} ({error})")
            else:
                members.sent.append(path)
        members.left_out.extend(
            f"{file.uri.removeprefix(self.uri + INSIDE)}: {file.reason}"
            for file in passed.skipped.named
        )
        return members


def _listed(names: list[str]) -> str:
    remaining = len(names) - _MOST_NAMED
    end = f" and {remaining} more" if remaining > 0 else ""
    return ", ".join(names[:_MOST_NAMED]) + end
