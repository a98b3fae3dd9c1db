"""The files in an uploaded mail or archive, each of which becomes an upload of its own.

They are taken out with the limits of `ragkit ingest`, and sent by whoever sent what holds them. It
knows nothing of workers, and of formats only which ones hold files.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ragkit.errors import IngestError, UsageError
from ragkit.store.sources import Upload
from ragkit_ingest.parse import CONTAINERS
from ragkit_ingest.sources import expanded
from ragkit_ingest.sources.containers import INSIDE
from ragkit_ingest.sources.passed import Passed
from ragkit_ingest.sources.sizes import in_hand
from ragkit_ingest.sources.taking import Container, Taking

if TYPE_CHECKING:
    from ragkit.store.sources import Sources
    from ragkit.store.upload_worker import TakenUpload
    from ragkit_ingest.items import Item
    from ragkit_ingest.sandbox import ParserPool
    from ragkit_ingest.spool import Part

    Wait = Callable[[Future[list[tuple[str, Part]]]], list[tuple[str, Part]]]

_MOST_NAMED: Final = 20  # arbitrary: of a list that is read as a line


@dataclass(frozen=True, slots=True)
class Inside:
    """What a mail or archive held: how many files were sent on, and which were left out, and why.

    Both name files by their path in it.
    """

    sent: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """Say it in a line for the job's report; nothing where there was nothing in it."""
        parts = []
        if self.sent:
            many = "1 file" if len(self.sent) == 1 else f"{len(self.sent)} files"
            parts.append(f"{many} in it, each with a job of its own: {_listed(self.sent)}")
        if self.left_out:
            parts.append(f"left out: {_listed(self.left_out)}")
        return "; ".join(parts)


def holds_others(job: TakenUpload, suffix: str) -> bool:
    """Say whether an upload is to be taken apart; what came out of another one was already."""
    return suffix in CONTAINERS and INSIDE not in job.uri


def send_members(
    job: TakenUpload,
    suffix: str,
    data: bytes,
    sources: Sources,
    parsers: ParserPool,
    max_bytes: int,
    wait: Wait,
) -> Inside:
    """Keep each file in an upload as one of its own, of `max_bytes` at most; say what became of it.

    `wait` waits for a parser process. Raises IngestError for what cannot be taken apart,
    NotFoundError when the collection is gone.
    """

    def unpack(data: bytes, suffix: str) -> list[tuple[str, Part]]:
        return wait(parsers.members(data, suffix))

    passed, inside = Passed(), Inside()
    whole = Container(job.uri, suffix, in_hand(data), taking=Taking(passed=passed))
    for item in expanded(whole, data, unpack):
        path = item.uri.removeprefix(job.uri + INSIDE)
        try:
            _send(job, item, sources, max_bytes)
        except IngestError as error:
            inside.left_out.append(f"{path} ({error.reason})")
        except UsageError as error:
            inside.left_out.append(f"{path} ({error})")
        else:
            inside.sent.append(path)
    inside.left_out.extend(
        f"{file.uri.removeprefix(job.uri + INSIDE)}: {file.reason}" for file in passed.skipped.named
    )
    return inside


def _send(job: TakenUpload, item: Item, sources: Sources, max_bytes: int) -> None:
    name = item.uri.rpartition("/")[2]
    upload = Upload(name, io.BytesIO(item.read(max_bytes)), item.uri)
    sources.keep(job.collection, [upload], principal=job.principal)


def _listed(names: list[str]) -> str:
    rest = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")
